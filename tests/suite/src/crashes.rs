//! `server:crashed`, as a native listener hears it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use pointwork_core::Crash;
use tokio::sync::Notify;

use crate::client::PATIENCE;

/// The crashes that an application reported, in order.
#[derive(Clone, Debug, Default)]
pub struct Crashes(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    seen: Mutex<Vec<Crash>>,
    changed: Notify,
}

impl Crashes {
    pub(crate) fn record(&self, crash: Crash) {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).push(crash);
        self.0.changed.notify_waiters();
    }

    /// All so far.
    pub fn all(&self) -> Vec<Crash> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until one of them is wanted, and returns it.
    ///
    /// # Errors
    /// If there is none for ten seconds; the error lists what there was.
    pub async fn expect(&self, what: &str, wanted: impl Fn(&Crash) -> bool) -> Result<Crash> {
        let found = async {
            loop {
                // Registered before the look, so that what comes in between is not missed.
                let changed = self.0.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if let Some(crash) = self.all().into_iter().find(&wanted) {
                    return crash;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(crash) => Ok(crash),
            Err(_) => bail!("`server:crashed` did not tell of {what}; it told of {:#?}", self.all()),
        }
    }

    /// Waits a moment and fails if there was any crash.
    ///
    /// # Errors
    /// If there was one.
    pub async fn expect_none(&self) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        match self.all().as_slice() {
            [] => Ok(()),
            crashes => bail!("`server:crashed` told of {crashes:#?}, expected nothing"),
        }
    }
}
