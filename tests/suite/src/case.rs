//! Cases: behaviours that are written once and run on every subject.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::FutureExt as _;
use pointwork::{ServerChanged, ServerRefused};
use pointwork_core::{BoxFuture, CrashKind, ServerCrashed};
use pointwork_test_clock::real::until;
use pointwork_test_runner::panic_message;
use pointwork_wire_tests::differences::{Answer, Differences};

use crate::client::{Client, Response};
use crate::differences;
use crate::event_log::EventLog;
use crate::fixtures::{Fixture, Fixtures};
use crate::languages;
use crate::logs::Logs;
use crate::subject::{AppSpec, Control, Refusal, Subject};

/// One behaviour.
#[derive(Clone, Copy)]
pub struct Case {
    /// The behaviour, as a sentence in snake case.
    pub name: &'static str,
    /// The rows of the specification that it proves.
    pub rows: &'static [&'static str],
    /// The guests from `tests/guests` that it uses.
    pub fixtures: &'static [Fixture],
    /// The parts of the project whose code can fail the case.
    pub exercises: &'static [Part],
    /// Whether a module takes part that an SDK can write.
    pub has_guest: bool,
    /// Whether the case is selected for the programs in C and Python.
    pub is_in_hosts: bool,
    /// Whether the case moves the clock of the application, which it can do in its own process only.
    pub moves_clock: bool,
    pub(crate) run: fn(Harness) -> BoxFuture<'static, Result<()>>,
}

/// A part of the project that a case exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The SDK of the guest's language.
    Sdk,
    /// The adapter.
    Adapter,
    /// The host alone.
    Host,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

impl Case {
    /// Whether the case exercises the part.
    pub fn is_of(&self, part: Part) -> bool {
        self.exercises.contains(&part)
    }

    /// Runs the case; a panic counts as a failure.
    ///
    /// # Errors
    /// The failure.
    pub async fn run(&self, subject: Arc<dyn Subject>, fixtures: Fixtures) -> Result<()> {
        let harness = Harness {
            subject,
            fixtures,
            declared: self.fixtures,
            logs: Logs::begin(),
        };
        match AssertUnwindSafe((self.run)(harness)).catch_unwind().await {
            Ok(verdict) => verdict,
            Err(panic) => Err(anyhow!("{}", panic_message(&*panic))),
        }
    }
}

/// Registers the cases of a file, and says what each of them exercises.
///
/// `cases![host; first: P6; second [RustBasic]: P6, H9 of sdk and adapter; third: M1 without guest in hosts;]`
///
/// The list begins with the parts that the cases of the file exercise. Each case has its name, the guests of `tests/guests` that the
/// case uses, and the rows of the specification that the case proves. `of` replaces the parts of the file for one case.
///
/// Every case exercises the host. The parts are:
///
/// - `sdk`, if code of a guest's SDK can fail the case: declarations, arguments, replies, events and errors.
/// - `adapter`, if code of an adapter can fail the case.
/// - `host`, if neither of the two can.
///
/// `without guest` says that the case loads no module, or that no SDK writes its modules. `in hosts` selects the case for
/// the programs in C and Python. `moves clock` says that the case moves the clock of its applications: such a case does not run in those
/// programs, whose time it cannot move. The module [`matrix`](crate::matrix) decides from these words where a case runs.
macro_rules! cases {
    (@part sdk) => { $crate::case::Part::Sdk };
    (@part adapter) => { $crate::case::Part::Adapter };
    (@part host) => { $crate::case::Part::Host };
    (@parts [$($of_file:ident)+]) => { &[$($crate::case::cases!(@part $of_file)),+] };
    (@parts [$($of_file:ident)+] $($own:ident)+) => { &[$($crate::case::cases!(@part $own)),+] };
    (@has_guest) => { true };
    (@has_guest guest) => { false };
    (@is_in_hosts) => { false };
    (@is_in_hosts hosts) => { true };
    (@moves_clock) => { false };
    (@moves_clock clock) => { true };
    (@list $parts:tt $(
        $name:ident $([$($fixture:ident),+])? : $($row:ident),+
        $(of $($part:ident)and+)? $(without $guest:ident)? $(in $hosts:ident)? $(moves $clock:ident)?;
    )+) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<$crate::case::Case> {
            vec![$($crate::case::Case {
                name: stringify!($name),
                rows: &[$(stringify!($row)),+],
                fixtures: &[$($($crate::fixtures::Fixture::$fixture),+)?],
                exercises: $crate::case::cases!(@parts $parts $($($part)+)?),
                has_guest: $crate::case::cases!(@has_guest $($guest)?),
                is_in_hosts: $crate::case::cases!(@is_in_hosts $($hosts)?),
                moves_clock: $crate::case::cases!(@moves_clock $($clock)?),
                run: |harness| Box::pin($name(harness)),
            }),+]
        }
    };
    ($($part:ident)and+; $($list:tt)+) => { $crate::case::cases! { @list [$($part)+] $($list)+ } };
}
pub(crate) use cases;

/// The environment of a case.
pub struct Harness {
    subject: Arc<dyn Subject>,
    fixtures: Fixtures,
    declared: &'static [Fixture],
    logs: Logs,
}

impl Harness {
    /// Starts an application on the subject.
    ///
    /// # Errors
    /// If the application refuses a step.
    pub async fn start(&self, app: AppSpec) -> Result<Live, Refusal> {
        let (crashes, changes, refusals) = (EventLog::default(), EventLog::default(), EventLog::default());
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

    /// Starts an application that the subject has to refuse, and returns the reason.
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
    /// If the guest cannot be built; the error lists the tool to install.
    pub async fn fixture(&self, fixture: Fixture) -> Result<Arc<[u8]>> {
        assert!(
            self.declared.contains(&fixture),
            "register the case with the fixture {fixture:?}"
        );
        match languages::twin(fixture) {
            Some(twin) => twin,
            None => self.fixtures.build(fixture).await,
        }
    }

    /// The log lines since the case began.
    pub fn logs(&self) -> Logs {
        self.logs
    }

    /// Whether the reply is the adapter's own answer to a method that its framework does not support, as
    /// `differences.toml` declares it. `false` for a supported method: the case goes on as on any adapter.
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

    /// The declared answer of the adapter's server to a method that its framework does not support.
    pub fn instead(&self, method: &str) -> Option<&'static Answer> {
        Differences::declared().instead(self.subject(), method)
    }

    /// Whether the threads of the adapter's server rest while the body of a request is incomplete. actix-http polls such a request without
    /// a pause, so that an advance of a clock would never return.
    pub fn rests_during_uploads(&self) -> bool {
        self.adapter() != "actix"
    }

    /// The name of the subject.
    pub fn subject(&self) -> &'static str {
        self.subject.name()
    }

    /// The kind of the crash of a native function that panics.
    pub fn kind_of_native_crash(&self) -> CrashKind {
        self.subject.kind_of_native_crash()
    }

    /// The name of the adapter.
    pub fn adapter(&self) -> &'static str {
        self.subject.adapter()
    }
}

/// A serving application. It dereferences to its [`Client`].
pub struct Live {
    client: Client,
    control: Box<dyn Control>,
    crashes: EventLog<ServerCrashed>,
    changes: EventLog<ServerChanged>,
    refusals: EventLog<ServerRefused>,
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

    /// The `server:crashed` events of the application.
    pub fn crashes(&self) -> &EventLog<ServerCrashed> {
        &self.crashes
    }

    /// The `server:changed` events of the application.
    pub fn changes(&self) -> &EventLog<ServerChanged> {
        &self.changes
    }

    /// The `server:refused` events of the application.
    pub fn refusals(&self) -> &EventLog<ServerRefused> {
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

    /// Shuts the application down, and fails if it reported a crash. The shutdown waits for every event, so a crash
    /// that is not reported by then did not happen.
    ///
    /// # Errors
    /// If there was a crash, or a request does not end.
    pub async fn ends_without_a_crash(self) -> Result<()> {
        // A handler may crash after its reply, too.
        let done = || self.control.requests_in_flight() == 0;
        until("every handler is done", done).await?;
        let crashes = self.crashes.clone();
        self.shutdown().await;
        crashes.expect_none()
    }

    /// Shuts the application down.
    pub fn shutdown(self) -> impl Future<Output = ()> {
        self.control.shutdown()
    }
}
