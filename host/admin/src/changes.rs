//! Counters of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pointwork::{App, Failure, ServerChanged, ServerRefused};
use pointwork_core::SERVER_CHANNEL;

/// Counts the changes since the endpoint was created.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<ChangeCounts>);

/// The published changes by kind, and the refused ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeCounts {
    pub(crate) published: BTreeMap<String, u64>,
    pub(crate) refused: u64,
}

impl Changes {
    /// Counts the changes of the application from now on.
    pub(crate) fn count(app: &App) -> Result<Arc<Self>, pointwork::Error> {
        let changes = Arc::new(Self::default());
        let (published, refused) = (changes.clone(), changes.clone());
        app.channel(SERVER_CHANNEL)
            .on(ServerChanged, move |change| {
                published.add(|counts| *counts.published.entry(change.kind.to_string()).or_default() += 1);
                async { Ok::<_, Failure>(()) }
            })?
            .on(ServerRefused, move |_| {
                refused.add(|counts| counts.refused += 1);
                async { Ok::<_, Failure>(()) }
            })?;
        Ok(changes)
    }

    pub(crate) fn counts(&self) -> ChangeCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, change: impl FnOnce(&mut ChangeCounts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
