//! The chain of calls that one request, or one emitted event, set off.

use std::sync::Arc;
use std::time::Instant;

use crate::{Failure, FailureCode};

/// How many calls deep a chain may go. Eight is more than any sane application nests, and few enough that a cycle of
/// channels ends within microseconds.
pub const MAX_DEPTH: u8 = 8;

/// Where an event comes from: how deep, through which events, and until when it may run.
///
/// A chain begins with a request and grows by one link with every `call` and `emit`. It is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    last: Option<Arc<Link>>,
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct Link {
    event: Arc<str>,
    depth: u8,
    parent: Option<Arc<Link>>,
}

impl Chain {
    /// A new chain that must end by `deadline`.
    pub fn new(deadline: Option<Instant>) -> Self {
        Self { last: None, deadline }
    }

    /// When what runs in the chain is cut off; `None` if never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How many calls led here.
    pub fn depth(&self) -> u8 {
        self.last.as_ref().map_or(0, |link| link.depth)
    }

    /// The chain one call further.
    ///
    /// # Errors
    /// [`TOO_DEEP`](FailureCode::TOO_DEEP) past [`MAX_DEPTH`] links; the message lists them, so that a cycle shows.
    pub fn extend(&self, event: &Arc<str>) -> Result<Self, Failure> {
        let depth = self.depth() + 1;
        if depth > MAX_DEPTH {
            let message = format!(
                "`{event}` is call {depth} of a chain of at most {MAX_DEPTH}: {}",
                self.describe()
            );
            return Err(Failure::internal(FailureCode::TOO_DEEP, message));
        }
        let link = Link {
            event: event.clone(),
            depth,
            parent: self.last.clone(),
        };
        Ok(Self {
            last: Some(Arc::new(link)),
            deadline: self.deadline,
        })
    }

    /// The chain one emitted event further: it keeps its depth, but runs in its own time.
    pub(crate) fn detach(&self, event: &Arc<str>) -> Result<Self, Failure> {
        Ok(Self {
            deadline: None,
            ..self.extend(event)?
        })
    }

    fn describe(&self) -> String {
        let mut names = Vec::new();
        let mut link = self.last.as_deref();
        while let Some(current) = link {
            names.push(format!("`{}`", current.event));
            link = current.parent.as_deref();
        }
        names.reverse();
        names.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_past_its_depth_names_every_link() {
        let mut chain = Chain::default();
        for round in 0..MAX_DEPTH {
            let name: Arc<str> = if round % 2 == 0 { "a:x".into() } else { "b:y".into() };
            chain = chain.extend(&name).unwrap();
        }
        let failure = chain.extend(&"a:x".into()).unwrap_err();
        assert_eq!(failure.code(), &FailureCode::TOO_DEEP);
        assert!(failure.message().contains("`a:x` → `b:y`"), "{failure}");
    }
}
