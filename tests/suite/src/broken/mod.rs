//! Subjects with one fault each, which prove that the cases can fail. Each subject names a case, which has to fail on
//! it with the named text: another failure, such as a start that fails, does not count.
//!
//! They run on one adapter.

mod control;
mod proxy;
mod steps;
mod transport;

use std::sync::Arc;

use pointwork_core::Transport;

use crate::subject::{Step, Subject};

pub use proxy::Rewriting;
pub use steps::AlteredSteps;
pub use transport::{ForgetsReplay, Stale};

/// A fault, and the case that has to detect it.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// The fault of the subject, in words.
    pub name: &'static str,
    /// The case that detects it.
    pub caught_by: &'static str,
    /// Text that the failure of the case contains, which tells it from any other failure.
    pub told_as: &'static str,
    /// The fault.
    pub fault: Fault,
}

/// The place of a fault.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Between the client and the adapter: rewrites the head of a request.
    Wire(fn(Vec<String>) -> Vec<String>),
    /// Between the adapter and the client: rewrites the bytes of a reply, chunk by chunk.
    Reply(fn(Vec<u8>) -> Vec<u8>),
    /// Between the application and the adapter: loses tables.
    Transport(fn(Arc<dyn Transport>) -> Arc<dyn Transport>),
    /// Between the embedder and the application: leaves steps out, changes or adds them.
    Steps(fn(Vec<Step>) -> Vec<Step>),
}

/// All broken subjects.
pub const ALL: &[Broken] = &[
    Broken {
        name: "drops_the_query",
        caught_by: "the_query_arrives_as_it_was_sent",
        told_as: r#"left: "(none)""#,
        fault: Fault::Wire(proxy::drop_query),
    },
    Broken {
        name: "merges_headers",
        caught_by: "duplicate_headers_arrive_as_two",
        told_as: r#"left: ["x-two=one, two"]"#,
        fault: Fault::Wire(proxy::merge_headers),
    },
    Broken {
        name: "decodes_the_path",
        caught_by: "an_encoded_slash_stays_in_its_segment",
        told_as: "no route for GET /p/a/b",
        fault: Fault::Wire(proxy::decode_slashes),
    },
    Broken {
        name: "merges_slashes",
        caught_by: "a_doubled_slash_is_another_path",
        told_as: "left: 200\n right: 404",
        fault: Fault::Wire(proxy::merge_slashes),
    },
    Broken {
        name: "raises_the_method",
        caught_by: "any_token_is_a_method",
        told_as: "X-OWN! is not allowed for /it",
        fault: Fault::Wire(proxy::raise_method),
    },
    Broken {
        name: "sends_bytes_behind_a_reply",
        caught_by: "no_reply_of_a_native_handler_leaves_its_framing",
        told_as: "bytes behind the end of the last reply: `x`",
        fault: Fault::Reply(proxy::trail),
    },
    Broken {
        name: "repeats_the_length",
        caught_by: "no_reply_of_a_guest_leaves_its_framing",
        told_as: "the reply has 2 `content-length` headers",
        fault: Fault::Reply(proxy::repeat_length),
    },
    Broken {
        name: "lets_a_trailer_announce_itself",
        caught_by: "headers_of_the_connection_are_the_servers_alone",
        told_as: r#"`trailer` is on the wire: ["x-later"]"#,
        fault: Fault::Reply(proxy::announce_trailer),
    },
    Broken {
        name: "ends_what_breaks_off",
        caught_by: "a_reply_that_breaks_off_never_looks_whole",
        told_as: "what broke off looks whole",
        fault: Fault::Reply(proxy::end_at_once),
    },
    Broken {
        name: "forgets_the_replay",
        caught_by: "routes_loaded_before_the_adapter_are_replayed",
        told_as: "the server has no routes yet",
        fault: Fault::Transport(|inner| Arc::new(ForgetsReplay::new(inner))),
    },
    Broken {
        name: "keeps_the_old_table",
        caught_by: "a_module_loaded_while_serving_answers",
        told_as: "no route for GET /late",
        fault: Fault::Transport(|inner| Arc::new(Stale::new(inner))),
    },
    Broken {
        name: "tells_the_client_what_broke",
        caught_by: "a_trap_tells_the_client_nothing",
        told_as: "`wasm` is in: ",
        fault: Fault::Reply(proxy::tell_of_a_trap),
    },
    Broken {
        name: "hears_everything_twice",
        caught_by: "emitted_events_arrive_in_order",
        told_as: "left: \"0\"\n right: \"1\"",
        fault: Fault::Steps(steps::hear_everything_twice),
    },
    Broken {
        name: "loses_every_second_event",
        caught_by: "emitted_events_are_heard_before_the_end",
        told_as: r#"left: ["\"0\"", "\"2\"","#,
        fault: Fault::Steps(steps::lose_every_second_event),
    },
    Broken {
        name: "mixes_the_listeners_up",
        caught_by: "one_channel_has_many_listeners",
        told_as: r#"left: "a 2 1 2""#,
        fault: Fault::Steps(steps::mix_the_listeners_up),
    },
    Broken {
        name: "alters_the_result_of_a_call",
        caught_by: "a_call_returns_what_the_listener_returns",
        told_as: r#"left: "\"7\" row!""#,
        fault: Fault::Steps(steps::alter_results),
    },
    Broken {
        name: "loses_a_context_that_is_handed_over",
        caught_by: "a_channel_may_reply_in_the_handlers_stead",
        told_as: r#"left: "{\"message\":\"internal error\"}""#,
        fault: Fault::Steps(steps::lose_the_context),
    },
    Broken {
        name: "answers_a_swap_and_publishes_nothing",
        caught_by: "a_swap_may_change_the_form",
        told_as: "left: \"a\"\n right: \"b\"",
        fault: Fault::Steps(steps::swap_nothing),
    },
    Broken {
        name: "keeps_the_old_listeners",
        caught_by: "callers_see_one_version_or_the_other",
        told_as: "left: \"\\\"7\\\" 0\"\n right: \"\\\"7\\\" 1\"",
        fault: Fault::Steps(steps::swap_nothing),
    },
    Broken {
        name: "swaps_by_removing_and_loading",
        caught_by: "swaps_under_load_fail_no_request_and_mix_no_versions",
        told_as: "no route for GET /",
        fault: Fault::Steps(steps::swap_by_removing),
    },
    Broken {
        name: "rolls_nothing_back",
        caught_by: "a_module_is_rolled_back_and_back_again",
        told_as: "left: \"b\"\n right: \"a\"",
        fault: Fault::Steps(steps::roll_nothing_back),
    },
    Broken {
        name: "keeps_a_removed_module",
        caught_by: "modules_come_and_go_while_the_application_serves",
        told_as: "round 1: /kept\n  left: 200\n right: 404",
        fault: Fault::Steps(steps::remove_nothing),
    },
    Broken {
        name: "applies_the_prefix_twice",
        caught_by: "a_prefix_that_is_set_twice_applies_once",
        told_as: r#"left: ["GET /api/api/a"]"#,
        fault: Fault::Steps(steps::double_the_prefix),
    },
    Broken {
        name: "forgets_the_prefix",
        caught_by: "set_global_prefix_prefixes_what_comes_afterwards",
        told_as: "no route for GET /api/v1/a",
        fault: Fault::Steps(steps::forget_the_prefix),
    },
    Broken {
        name: "prefixes_what_came_before",
        caught_by: "what_came_before_the_prefix_has_none",
        told_as: "no route for GET /before",
        fault: Fault::Steps(steps::prefix_what_came_before),
    },
    Broken {
        name: "sets_no_limit",
        caught_by: "a_module_has_a_body_limit_of_its_own",
        told_as: "left: 200\n right: 413",
        fault: Fault::Steps(steps::set_no_limit),
    },
    Broken {
        name: "reports_no_crash",
        caught_by: "a_trap_is_500_and_reported",
        told_as: "did not tell of the trap; it told of []",
        fault: Fault::Steps(steps::report_no_crash),
    },
];

impl Broken {
    /// Breaks a sound subject. `with` makes a subject with a wrapped transport.
    pub fn subject(
        &self,
        sound: Arc<dyn Subject>,
        with: impl FnOnce(fn(Arc<dyn Transport>) -> Arc<dyn Transport>) -> Arc<dyn Subject>,
    ) -> Arc<dyn Subject> {
        match self.fault {
            Fault::Wire(rewrite) => Arc::new(Rewriting::new(sound, rewrite)),
            Fault::Reply(rewrite) => Arc::new(Rewriting::replies(sound, rewrite)),
            Fault::Transport(wrap) => with(wrap),
            Fault::Steps(steps) => Arc::new(AlteredSteps::new(sound, steps)),
        }
    }
}
