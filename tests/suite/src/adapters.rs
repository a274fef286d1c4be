//! The adapters as subjects of the suite.

use pointwork_core::{BoxFuture, ServerOptions};
use pointwork_test_clock::TestClock;
use pointwork_wire_tests::On;

use crate::app::{Wrap, start};
use crate::subject::{AppSpec, Control, Refusal, Subject};

pub use pointwork_wire_tests::ADAPTERS;

/// One subject for each adapter.
pub fn subjects() -> Vec<OnAdapter> {
    ADAPTERS.map(|on| OnAdapter { on, wrap: None }).to_vec()
}

/// The adapter on which every case runs.
///
/// # Panics
/// If there is no such adapter.
pub fn hyper() -> OnAdapter {
    let mut subjects = subjects().into_iter();
    subjects
        .find(|subject| subject.name() == "hyper")
        .expect("an adapter `hyper`")
}

/// The adapter on which the cases run whose guests are in TypeScript.
///
/// # Panics
/// If there is no such adapter.
pub fn axum() -> OnAdapter {
    let mut subjects = subjects().into_iter();
    subjects
        .find(|subject| subject.name() == "axum")
        .expect("an adapter `axum`")
}

/// An application on one adapter.
#[derive(Clone, Copy, Debug)]
pub struct OnAdapter {
    on: On,
    wrap: Option<Wrap>,
}

impl OnAdapter {
    /// The same with a broken transport; see [`broken`](crate::broken).
    #[must_use]
    pub fn wrapped(self, wrap: Wrap) -> Self {
        Self {
            wrap: Some(wrap),
            ..self
        }
    }
}

impl Subject for OnAdapter {
    fn name(&self) -> &'static str {
        self.on.name
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        let clock = app.time().map(TestClock::clock);
        let options = ServerOptions::new().clock(clock.unwrap_or_default());
        Box::pin(start((self.on.open)(options), self.wrap, app))
    }
}
