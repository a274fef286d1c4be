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
            Fault::Transport(wrap) => with(wrap),
        }
    }
}
