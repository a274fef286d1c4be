//! Subjects that are broken on purpose. A suite that cannot tell them from sound ones proves nothing: each of them has to
//! fail the case that it names.

mod proxy;
mod transport;

use std::sync::Arc;

use pointwork_core::Transport;

use crate::subject::Subject;

pub use proxy::Rewriting;
pub use transport::{ForgetsReplay, Stale};

/// A fault, and the case that has to catch it.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// What the broken subject does wrong.
    pub name: &'static str,
    /// The case that catches it.
    pub caught_by: &'static str,
    /// Where the fault sits.
    pub fault: Fault,
}

/// Where a fault sits.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Between the client and the adapter: the head of a request is rewritten.
    Wire(fn(Vec<String>) -> Vec<String>),
    /// Between the adapter and the client: the bytes of a reply are rewritten, as they come in pieces.
    Reply(fn(Vec<u8>) -> Vec<u8>),
    /// Between the application and the adapter: tables are lost.
    Transport(fn(Arc<dyn Transport>) -> Arc<dyn Transport>),
}

/// All of them.
pub const ALL: &[Broken] = &[
    Broken {
        name: "drops_the_query",
        caught_by: "the_query_arrives_as_it_was_sent",
        fault: Fault::Wire(proxy::drop_query),
    },
    Broken {
        name: "merges_headers",
        caught_by: "duplicate_headers_arrive_as_two",
        fault: Fault::Wire(proxy::merge_headers),
    },
    Broken {
        name: "decodes_the_path",
        caught_by: "an_encoded_slash_stays_in_its_segment",
        fault: Fault::Wire(proxy::decode_slashes),
    },
    Broken {
        name: "merges_slashes",
        caught_by: "a_doubled_slash_is_another_path",
        fault: Fault::Wire(proxy::merge_slashes),
    },
    Broken {
        name: "raises_the_method",
        caught_by: "any_token_is_a_method",
        fault: Fault::Wire(proxy::raise_method),
    },
    Broken {
        name: "keeps_one_length_of_two",
        caught_by: "a_second_content_length_is_refused",
        fault: Fault::Wire(proxy::keep_one_length),
    },
    Broken {
        name: "trims_line_ends",
        caught_by: "control_bytes_in_a_head_are_refused",
        fault: Fault::Wire(proxy::drop_controls),
    },
    Broken {
        name: "sends_bytes_behind_a_reply",
        caught_by: "no_reply_of_a_native_handler_leaves_its_framing",
        fault: Fault::Reply(proxy::trail),
    },
    Broken {
        name: "repeats_the_length",
        caught_by: "no_reply_of_a_guest_leaves_its_framing",
        fault: Fault::Reply(proxy::repeat_length),
    },
    Broken {
        name: "lets_a_trailer_announce_itself",
        caught_by: "headers_of_the_connection_are_the_servers_alone",
        fault: Fault::Reply(proxy::announce_trailer),
    },
    Broken {
        name: "ends_what_breaks_off",
        caught_by: "a_reply_that_breaks_off_never_looks_whole",
        fault: Fault::Reply(proxy::end_at_once),
    },
    Broken {
        name: "forgets_the_replay",
        caught_by: "routes_loaded_before_the_adapter_are_replayed",
        fault: Fault::Transport(|inner| Arc::new(ForgetsReplay::new(inner))),
    },
    Broken {
        name: "keeps_the_old_table",
        caught_by: "a_module_loaded_while_serving_answers",
        fault: Fault::Transport(|inner| Arc::new(Stale::new(inner))),
    },
];

impl Broken {
    /// Breaks a sound subject. `with` makes a subject whose transports are wrapped.
    pub fn subject(
        &self,
        sound: Arc<dyn Subject>,
        with: impl FnOnce(fn(Arc<dyn Transport>) -> Arc<dyn Transport>) -> Arc<dyn Subject>,
    ) -> Arc<dyn Subject> {
        match self.fault {
            Fault::Wire(rewrite) => Arc::new(Rewriting::new(sound, rewrite)),
            Fault::Reply(rewrite) => Arc::new(Rewriting::replies(sound, rewrite)),
            Fault::Transport(wrap) => with(wrap),
        }
    }
}
