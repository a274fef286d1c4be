//! How many changes there were, by kind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pointwork::{App, Failure, ServerRefused, ServerSwapped};
use pointwork_core::SERVER_CHANNEL;

/// Changes since the endpoint was made.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Counts>);

/// How many were published, by kind, and how many refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) published: BTreeMap<String, u64>,
    pub(crate) refused: u64,
}

impl Changes {
    /// Counts what the application tells of from now on.
    pub(crate) fn count(app: &App) -> Result<Arc<Self>, pointwork::Error> {
        let changes = Arc::new(Self::default());
        let (published, refused) = (changes.clone(), changes.clone());
        app.channel(SERVER_CHANNEL)
            .on(ServerSwapped, move |change| {
                published.add(|counts| *counts.published.entry(change.kind.to_string()).or_default() += 1);
                async { Ok::<_, Failure>(()) }
            })?
            .on(ServerRefused, move |_| {
                refused.add(|counts| counts.refused += 1);
                async { Ok::<_, Failure>(()) }
            })?;
        Ok(changes)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
