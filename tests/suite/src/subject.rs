//! What a case runs against: an application on an adapter, described as a list of steps.
//!
//! A [`Subject`] starts such an application and hands back a [`Control`]. The cases know nothing else of it, so they run
//! on every adapter, and on the broken subjects too.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pointwork::{ModuleOptions, ModuleStatus};
use pointwork_core::events::Event;
use pointwork_core::{
    BoxFuture, Delivery, Failure, Handler, Listener, Payload, RouteRecord, SERVER_CHANNEL, Subscription,
};

use crate::told::Told;

/// Starts applications on one adapter.
pub trait Subject: Send + Sync {
    /// The adapter's name, as it stands in the golden table.
    fn name(&self) -> &'static str;

    /// Puts the application together, step by step, and serves it on a free port of the loopback.
    ///
    /// # Errors
    /// What the application said when it refused a step.
    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>>;
}

/// A serving application.
pub trait Control: Send + Sync {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// Does one more step while it serves.
    ///
    /// # Errors
    /// What the application said when it refused the step.
    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>>;

    /// The routes, as the application lists them (spec M3).
    fn routes(&self) -> Vec<RouteRecord>;

    /// The number of routes in the application's settings (spec M5).
    fn route_count(&self) -> usize;

    /// How many emitted events were refused so far: nobody listens, or a queue was full.
    fn events_refused(&self) -> u64;

    /// How each module is (spec S1).
    fn statuses(&self) -> Vec<ModuleStatus>;

    /// How many requests are under way in the whole application.
    fn requests_in_flight(&self) -> usize;

    /// Stops accepting, lets what is in flight end, and completes when all is closed.
    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Why a step was refused: the error of the application with all its causes, as a person would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// The refusal that an error is.
    pub fn of(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
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

/// One thing that an embedder does with its application.
pub enum Step {
    /// Loads a module under a name.
    Load(String, Arc<[u8]>),
    /// Loads a module under a name, with limits of its own and with what it is granted.
    LoadWith(String, Arc<[u8]>, ModuleOptions),
    /// Puts another component in the place of a module.
    Swap(String, Arc<[u8]>),
    /// The same with limits of its own and with what it is granted.
    SwapWith(String, Arc<[u8]>, ModuleOptions),
    /// Makes the version before the last swap current again.
    RollBack(String),
    /// Takes a module out.
    Remove(String),
    /// Registers a handler: an attribute's method by its own operation (spec M1), any other with `register_route`
    /// (spec M2), and `None` with `all`.
    Register(Option<&'static str>, String, Arc<dyn Handler>),
    /// Adds a native listener.
    Listen(Subscription),
    /// Sets the global prefix.
    Prefix(String),
    /// Attaches the adapter, with the prefix of that call if there is one. Comes last unless told earlier.
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
            Self::Listen(subscription) => write!(f, "Listen({subscription:?})"),
            Self::Prefix(prefix) => write!(f, "Prefix({prefix:?})"),
            Self::Attach(prefix) => write!(f, "Attach({prefix:?})"),
        }
    }
}

/// Limits that a case sets; what is `None` is the application's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long a request may take until its reply begins.
    pub deadline: Option<Duration>,
    /// The longest request body, in bytes.
    pub body: Option<u64>,
    /// The most memory that an instance may have, in bytes.
    pub memory: Option<usize>,
    /// How many instances a module may have at a time.
    pub instances: Option<usize>,
    /// How many emitted events may wait for one listener.
    pub event_queue: Option<usize>,
    /// How long a listener may work on one emitted event.
    pub event_deadline: Option<Duration>,
    /// The longest payload of an event, in bytes.
    pub payload: Option<usize>,
    /// The largest component, in bytes.
    pub component: Option<usize>,
    /// Whether every component is compiled, also one that was compiled before.
    pub without_cache: bool,
    /// Whether a trailing slash is ignored (spec A8).
    pub ignore_trailing_slash: bool,
}

/// An application: the steps of its embedder in order, and its limits.
#[derive(Debug, Default)]
pub struct AppSpec {
    steps: Vec<Step>,
    limits: Limits,
}

impl AppSpec {
    /// An application with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more step.
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
    pub fn load_with(self, name: &str, component: impl Into<Arc<[u8]>>, options: ModuleOptions) -> Self {
        self.step(Step::LoadWith(name.to_owned(), component.into(), options))
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

    /// A native listener that is given the payload and the context if one was handed over.
    #[must_use]
    pub fn listen(self, channel: &str, event: &str, listener: impl Listener) -> Self {
        self.step(Step::Listen(Subscription {
            channel: channel.to_owned(),
            event: event.to_owned(),
            module: None,
            listener: Arc::new(listener),
        }))
    }

    /// A native listener that answers each payload with another.
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

    /// Writes down every event of the server of that kind, from the first step on.
    #[must_use]
    pub(crate) fn recording<E>(mut self, told: &Told<E>) -> Self
    where
        E: Event + 'static,
        E::Payload: Clone + fmt::Debug + Send + 'static,
    {
        let told = told.clone();
        let listener = move |_: Delivery, payload: Payload| {
            let told = told.clone();
            async move {
                told.record(payload.to::<E::Payload>()?);
                Ok(Payload::null())
            }
        };
        let (_, event) = E::NAME.split_once(':').unwrap_or(("", E::NAME));
        let subscription = Subscription {
            channel: SERVER_CHANNEL.to_owned(),
            event: event.to_owned(),
            module: None,
            listener: Arc::new(listener),
        };
        self.steps.insert(0, Step::Listen(subscription));
        self
    }

    /// The steps, with the one that attaches the adapter among them, and the limits.
    pub fn into_parts(mut self) -> (Vec<Step>, Limits) {
        if !self.steps.iter().any(|step| matches!(step, Step::Attach(_))) {
            self.steps.push(Step::Attach(None));
        }
        (self.steps, self.limits)
    }
}
