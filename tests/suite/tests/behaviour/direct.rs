//! An adapter without a server: the test calls its router.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use pointwork::{App, ConnectOptions, Staged, Transport};
use pointwork_core::{Error, Reporter, Router};

#[derive(Clone, Default)]
struct Direct(Arc<Mutex<Option<Arc<Router>>>>);

impl Transport for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn attach(&self, _: Reporter) {}

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        let published = self.0.clone();
        Ok(Staged::new(move || {
            *published.lock().unwrap_or_else(PoisonError::into_inner) = Some(router);
        }))
    }
}

/// The current router of an application.
///
/// # Errors
/// If the application refuses the adapter.
pub(crate) fn router(app: &App) -> Result<Arc<Router>> {
    let direct = Direct::default();
    app.connect_to(direct.clone(), ConnectOptions::new())?;
    let router = direct.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    router.context("no router was published")
}
