//! The subject of a case: an application on an adapter, described as a list of steps.
//!
//! A [`Subject`] starts such an application and returns a [`Control`]. The cases use nothing else of it, so they run on
//! every adapter, and on the broken subjects too.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pointwork::{ModuleOptions, ModuleStatus};
use pointwork_core::events::{Event, EventData as _};
use pointwork_core::{
    BoxFuture, CrashKind, Delivery, Failure, Handler, Listener, Payload, RouteRecord, SERVER_CHANNEL, Subscription,
};

use pointwork_test_clock::TestClock;
use serde_json::Value;

use crate::event_log::EventLog;
use crate::flavor::native;
use crate::guest::Program;

/// Starts applications on one adapter.
pub trait Subject: Send + Sync {
    /// The adapter's name.
    fn name(&self) -> &'static str;

    /// The adapter's name, as the application tells it in crashes and routes.
    fn adapter(&self) -> &'static str {
        self.name()
    }

    /// The kind of the crash of a native function that panics. A function in a host of another language raises an exception.
    fn kind_of_native_crash(&self) -> CrashKind {
        CrashKind::Panic
    }

    /// Builds the application, step by step, and serves it on a free port of the loopback interface.
    ///
    /// # Errors
    /// The application's error if it refuses a step.
    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>>;
}

/// A serving application.
pub trait Control: Send + Sync {
    /// The address of the server.
    fn address(&self) -> SocketAddr;

    /// Applies one more step while the application serves.
    ///
    /// # Errors
    /// The application's error if it refuses the step.
    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>>;

    /// The routes, as the application lists them (spec M3).
    fn routes(&self) -> Vec<RouteRecord>;

    /// The number of routes in the application's settings (spec M5).
    fn route_count(&self) -> usize;

    /// The number of emitted events that were refused so far: without a listener, or with a full queue.
    fn events_refused(&self) -> u64;

    /// The status of each module (spec S1).
    fn statuses(&self) -> Vec<ModuleStatus>;

    /// The number of requests in flight in the whole application.
    fn requests_in_flight(&self) -> usize;

    /// Stops accepting, lets the requests in flight end, and completes when all connections are closed.
    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// The reason for a refused step: the error of the application with its hint and all its causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// The refusal of an error.
    pub fn from_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut text = error.to_string();
        if let Some(hint) = error.downcast_ref().and_then(pointwork::Error::hint) {
            text.push_str(&format!(" (hint: {hint})"));
        }
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self(text)
    }

    /// The refusal of an application in another process.
    pub fn told(text: String) -> Self {
        Self(text)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// One operation of an embedder on its application.
pub enum Step {
    /// Loads a module under a name.
    Load(String, Arc<[u8]>),
    /// Loads a module under a name, with its own limits and grants.
    LoadWith(String, Arc<[u8]>, ModuleSettings),
    /// Swaps the component of a module.
    Swap(String, Arc<[u8]>),
    /// Swaps the component of a module, with its own limits and grants.
    SwapWith(String, Arc<[u8]>, ModuleSettings),
    /// Rolls a module back to the version before the last swap.
    RollBack(String),
    /// Removes a module.
    Remove(String),
    /// Registers a handler: by the function of its method if there is one (spec M1), by `register_route` for any other
    /// method (spec M2), and by `all` for `None`.
    Register(Option<&'static str>, String, Arc<dyn Handler>),
    /// Adds a native listener; one that is a program can run in a host of another language, too.
    Listen(Subscription, Option<Program>),
    /// Sets the global prefix.
    Prefix(String),
    /// Attaches the adapter, with the prefix of that call if there is one. It is the last step unless the case puts it
    /// earlier.
    Attach(Option<String>),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(name, bytes) => write!(f, "Load({name:?}, {} bytes)", bytes.len()),
            Self::LoadWith(name, bytes, options) => write!(f, "LoadWith({name:?}, {} bytes, {options:?})", bytes.len()),
            Self::Swap(name, bytes) => write!(f, "Swap({name:?}, {} bytes)", bytes.len()),
            Self::SwapWith(name, bytes, options) => write!(f, "SwapWith({name:?}, {} bytes, {options:?})", bytes.len()),
            Self::RollBack(name) => write!(f, "RollBack({name:?})"),
            Self::Remove(name) => write!(f, "Remove({name:?})"),
            Self::Register(method, path, _) => write!(f, "Register({method:?}, {path:?})"),
            Self::Listen(subscription, _) => write!(f, "Listen({subscription:?})"),
            Self::Prefix(prefix) => write!(f, "Prefix({prefix:?})"),
            Self::Attach(prefix) => write!(f, "Attach({prefix:?})"),
        }
    }
}

/// The options of a module.
#[derive(Clone, Debug, Default)]
pub struct ModuleSettings {
    /// All but the grants and the variables.
    pub options: ModuleOptions,
    /// The grants, with the keys of `[module.grant]` in `pointwork.toml`.
    pub grant: Value,
    /// The variables, as in `[module.variables]`.
    pub variables: Value,
}

impl ModuleSettings {
    /// The usual options, and these grants.
    pub fn granting(grant: Value) -> Self {
        Self {
            grant,
            ..Self::from(ModuleOptions::new())
        }
    }

    /// With these variables.
    #[must_use]
    pub fn variables(self, variables: Value) -> Self {
        Self { variables, ..self }
    }
}

impl From<ModuleOptions> for ModuleSettings {
    fn from(options: ModuleOptions) -> Self {
        Self {
            options,
            grant: Value::Null,
            variables: Value::Null,
        }
    }
}

/// Limits that a case sets; `None` is the application's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The time of a request until its reply begins.
    pub deadline: Option<Duration>,
    /// The longest request body, in bytes.
    pub body: Option<u64>,
    /// The memory for all request bodies together, in bytes.
    pub body_memory: Option<u64>,
    /// The longest request body that a handler takes chunk by chunk, in bytes.
    pub stream_body: Option<u64>,
    /// The largest memory of an instance, in bytes.
    pub memory: Option<usize>,
    /// The number of instances of a module.
    pub instances: Option<usize>,
    /// The number of instances of all modules together.
    pub max_instances: Option<u32>,
    /// The number of emitted events that wait for one listener.
    pub event_queue: Option<usize>,
    /// The time of a listener for one emitted event.
    pub event_deadline: Option<Duration>,
    /// The longest payload of an event, in bytes.
    pub payload: Option<usize>,
    /// The largest component, in bytes.
    pub component: Option<usize>,
    /// Whether a trailing slash is ignored (spec A8).
    pub ignore_trailing_slash: bool,
}

/// An application: the steps of its embedder in order, and its limits.
#[derive(Debug, Default)]
pub struct AppSpec {
    steps: Vec<Step>,
    limits: Limits,
    time: Option<TestClock>,
}

impl AppSpec {
    /// An application without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// See [`Step::Load`].
    #[must_use]
    pub fn load(self, name: &str, component: impl Into<Arc<[u8]>>) -> Self {
        self.step(Step::Load(name.to_owned(), component.into()))
    }

    /// See [`Step::LoadWith`].
    #[must_use]
    pub fn load_with(self, name: &str, component: impl Into<Arc<[u8]>>, options: impl Into<ModuleSettings>) -> Self {
        self.step(Step::LoadWith(name.to_owned(), component.into(), options.into()))
    }

    /// See [`Step::Register`].
    #[must_use]
    pub fn register(self, method: &'static str, path: &str, handler: impl Handler) -> Self {
        self.step(Step::Register(Some(method), path.to_owned(), Arc::new(handler)))
    }

    /// Registers a handler for every method.
    #[must_use]
    pub fn register_all(self, path: &str, handler: impl Handler) -> Self {
        self.step(Step::Register(None, path.to_owned(), Arc::new(handler)))
    }

    /// Adds a native listener that gets the payload, and the context if one was handed over.
    #[must_use]
    pub fn listen(self, channel: &str, event: &str, listener: impl Listener) -> Self {
        self.step(Step::Listen(subscription(channel, event, listener), None))
    }

    /// Adds a native listener that runs a program.
    #[must_use]
    pub(crate) fn runs(self, channel: &str, event: &str, program: Program) -> Self {
        let listener = native::listener(program.clone());
        self.step(Step::Listen(subscription(channel, event, listener), Some(program)))
    }

    /// Adds a native listener that answers each payload with another.
    #[must_use]
    pub fn answers(
        self,
        channel: &str,
        event: &str,
        answer: impl Fn(Payload) -> Result<Payload, Failure> + Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        self.listen(channel, event, move |_: Delivery, payload: Payload| {
            let answer = answer.clone();
            async move { answer(payload) }
        })
    }

    /// See [`Step::Prefix`].
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        self.step(Step::Prefix(prefix.to_owned()))
    }

    /// See [`Step::Attach`].
    #[must_use]
    pub fn attach(self, prefix: Option<&str>) -> Self {
        self.step(Step::Attach(prefix.map(str::to_owned)))
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Has the application and its server follow a clock that the case moves. An application in another process cannot.
    #[must_use]
    pub fn timed(mut self, time: &TestClock) -> Self {
        self.time = Some(time.clone());
        self
    }

    /// The clock that the case moves; `None` if the application has the real clock.
    pub fn time(&self) -> Option<&TestClock> {
        self.time.as_ref()
    }

    /// Records every event of the server of that kind, from the first step on.
    #[must_use]
    pub(crate) fn recording<E>(mut self, told: &EventLog<E>) -> Self
    where
        E: Event + 'static,
        E::Payload: Clone + fmt::Debug + Send + 'static,
    {
        let told = told.clone();
        let listener = move |_: Delivery, payload: Payload| {
            let told = told.clone();
            async move {
                told.record(E::Payload::from_payload(payload)?);
                Ok(Payload::null())
            }
        };
        let (_, event) = E::NAME.split_once(':').unwrap_or(("", E::NAME));
        let subscription = subscription(SERVER_CHANNEL, event, listener);
        self.steps.insert(0, Step::Listen(subscription, None));
        self
    }

    /// The steps, including the one that attaches the adapter, and the limits.
    pub fn into_parts(mut self) -> (Vec<Step>, Limits) {
        if !self.steps.iter().any(|step| matches!(step, Step::Attach(_))) {
            self.steps.push(Step::Attach(None));
        }
        (self.steps, self.limits)
    }
}

fn subscription(channel: &str, event: &str, listener: impl Listener) -> Subscription {
    Subscription {
        channel: channel.to_owned(),
        event: event.to_owned(),
        module: None,
        listener: Arc::new(listener),
    }
}
