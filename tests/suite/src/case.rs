//! Cases: behaviours, written once, run on every subject.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::FutureExt as _;
use pointwork::{ServerRefused, ServerSwapped};
use pointwork_core::{BoxFuture, ServerCrashed};
use pointwork_wire_tests::differences::{Answer, Differences};
use pointwork_wire_tests::message;

use crate::cases::eventually;
use crate::client::{Client, Response};
use crate::differences;
use crate::fixtures::{Fixture, Fixtures};
use crate::logs::Logs;
use crate::subject::{AppSpec, Control, Refusal, Subject};
use crate::told::Told;

/// One behaviour.
#[derive(Clone, Copy)]
pub struct Case {
    /// The behaviour, as a sentence in snake case.
    pub name: &'static str,
    /// The rows of the specification that it proves.
    pub rows: &'static [&'static str],
    /// The guests from `tests/guests` that it uses.
    pub fixtures: &'static [Fixture],
    /// Whether it runs on every adapter. A case that only the host can fail runs on one, `hyper`.
    pub everywhere: bool,
    pub(crate) run: fn(Stage) -> BoxFuture<'static, Result<()>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

impl Case {
    /// Runs the case; a panic is a failure like any other.
    ///
    /// # Errors
    /// What was not as expected.
    pub async fn run(&self, subject: Arc<dyn Subject>, fixtures: Fixtures) -> Result<()> {
        let stage = Stage {
            subject,
            fixtures,
            declared: self.fixtures,
            logs: Logs::begin(),
        };
        match AssertUnwindSafe((self.run)(stage)).catch_unwind().await {
            Ok(verdict) => verdict,
            Err(panic) => Err(anyhow!("{}", message(&*panic))),
        }
    }
}

/// Registers the cases of a file: `cases![host; name: P6, P7; other [Js]: A1; third: E1 on all;]`.
///
/// The first word says what the cases can fail on. Those of `adapter` run on every adapter. Those of `host` run on one of
/// them, but for the few that end with `on all`: they show that the adapter takes part.
macro_rules! cases {
    (@everywhere adapter) => { true };
    (@everywhere host) => { false };
    (@everywhere host all) => { true };
    ($scope:ident; $($name:ident $([$($fixture:ident),+])? : $($row:ident),+ $(on $all:ident)?;)+) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<$crate::case::Case> {
            vec![$($crate::case::Case {
                name: stringify!($name),
                rows: &[$(stringify!($row)),+],
                fixtures: &[$($($crate::fixtures::Fixture::$fixture),+)?],
                everywhere: $crate::case::cases!(@everywhere $scope $($all)?),
                run: |stage| Box::pin($name(stage)),
            }),+]
        }
    };
}
pub(crate) use cases;

/// What a case works with.
pub struct Stage {
    subject: Arc<dyn Subject>,
    fixtures: Fixtures,
    declared: &'static [Fixture],
    logs: Logs,
}

impl Stage {
    /// Starts an application on the subject.
    ///
    /// # Errors
    /// If the application refuses a step.
    pub async fn start(&self, app: AppSpec) -> Result<Live, Refusal> {
        let (crashes, changes, refusals) = (Told::default(), Told::default(), Told::default());
        let app = app.recording(&crashes).recording(&changes).recording(&refusals);
        let control = self.subject.start(app).await?;
        Ok(Live {
            client: Client::new(control.address()),
            control,
            crashes,
            changes,
            refusals,
        })
    }

    /// Starts an application that has to be refused, and returns why it was.
    ///
    /// # Errors
    /// If it starts.
    pub async fn refusal(&self, app: AppSpec) -> Result<String> {
        match self.start(app).await {
            Err(refusal) => Ok(refusal.text().to_owned()),
            Ok(live) => {
                live.shutdown().await;
                Err(anyhow!("the application started; expected it to be refused"))
            }
        }
    }

    /// A guest from `tests/guests`. The case has to be registered with it.
    ///
    /// # Errors
    /// If it cannot be built; the error says what to install.
    pub async fn fixture(&self, fixture: Fixture) -> Result<Arc<[u8]>> {
        assert!(
            self.declared.contains(&fixture),
            "register the case with the fixture {fixture:?}"
        );
        self.fixtures.build(fixture).await
    }

    /// What was logged since the case began.
    pub fn logs(&self) -> Logs {
        self.logs
    }

    /// Whether that is what the adapter's server answers by itself to a method that its framework does not know, as
    /// `differences.toml` declares. `false` for a method that it serves: the case goes on with it as on any adapter.
    ///
    /// # Errors
    /// If the adapter does not serve the method, and the reply is not the declared one.
    pub fn is_the_servers_own(&self, method: &str, reply: &Response) -> Result<bool> {
        let Some(instead) = self.instead(method) else {
            return Ok(false);
        };
        differences::check_reply(instead, method, reply)?;
        Ok(true)
    }

    /// What the adapter's server answers by itself to a method that its framework does not know.
    pub fn instead(&self, method: &str) -> Option<&'static Answer> {
        Differences::declared().instead(self.adapter(), method)
    }

    /// The name of the adapter.
    pub fn adapter(&self) -> &'static str {
        self.subject.name()
    }
}

/// A serving application. It is a [`Client`] of itself.
pub struct Live {
    client: Client,
    control: Box<dyn Control>,
    crashes: Told<ServerCrashed>,
    changes: Told<ServerSwapped>,
    refusals: Told<ServerRefused>,
}

impl Deref for Live {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Live {
    /// The control of the application.
    pub fn control(&self) -> &dyn Control {
        &*self.control
    }

    /// What it reported as `server:crashed`.
    pub fn crashes(&self) -> &Told<ServerCrashed> {
        &self.crashes
    }

    /// What it told as `server:swapped`.
    pub fn changes(&self) -> &Told<ServerSwapped> {
        &self.changes
    }

    /// What it told as `server:refused`.
    pub fn refusals(&self) -> &Told<ServerRefused> {
        &self.refusals
    }

    /// Its routes as `METHOD path`, in order.
    pub fn routes(&self) -> Vec<String> {
        self.control
            .routes()
            .iter()
            .map(|route| format!("{} {}", route.method, route.path))
            .collect()
    }

    /// Ends it, and fails if it reported a crash. An application ends when every event was heard, so one that is not
    /// there then was never told.
    ///
    /// # Errors
    /// If there was a crash, or a request that does not end.
    pub async fn ends_without_a_crash(self) -> Result<()> {
        // What a handler does after its reply may crash too.
        let done = || self.control.requests_in_flight() == 0;
        eventually("every handler is done", done).await?;
        let crashes = self.crashes.clone();
        self.shutdown().await;
        crashes.expect_none()
    }

    /// Ends it.
    pub fn shutdown(self) -> impl Future<Output = ()> {
        self.control.shutdown()
    }
}
