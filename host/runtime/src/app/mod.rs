//! What an embedder holds.

pub(crate) mod binder;
pub(crate) mod changes;
pub(crate) mod channel;
mod lifecycle;
pub(crate) mod module;
pub(crate) mod options;
pub(crate) mod status;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{Bus, Caller, Executor, Handler, RouteRecord, StagedListeners, Subscription, Transport};

use crate::app::binder::{Binder, Means};
use crate::app::changes::{Change, ChangeKind};
use crate::app::channel::Channel;
use crate::app::module::{Module, ModuleInfo};
use crate::app::options::{AppOptions, ModuleOptions};
use crate::app::status::ModuleStatus;
use crate::component::engine::Engines;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, digest};

use self::lifecycle::{History, Proposal};

/// An application: modules, channels and manual routes, served by the adapters that it is connected to.
///
/// Cheap to clone; all clones are one application. It serves until the last clone and the last adapter are dropped.
///
/// ```
/// use pointwork::{App, Context};
///
/// # fn main() -> Result<(), pointwork::Error> {
/// let app = App::new()?;
/// app.get("/health", |_: Context| async { "ok" })?;
/// assert_eq!(app.settings().route_count, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    engines: Arc<Engines>,
    threads: Arc<Threads>,
    means: Means,
    state: Mutex<State>,
}

struct State {
    binder: Binder,
    records: Vec<Arc<RouteRecord>>,
    histories: BTreeMap<String, History>,
}

/// How an adapter is connected.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The global prefix, as [`App::set_global_prefix`] sets it.
    pub prefix: Option<String>,
}

impl ConnectOptions {
    /// No prefix.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the global prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }
}

/// Figures of an application (spec M5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The number of registered routes.
    pub route_count: usize,
}

impl App {
    /// An application with the default options. Starts its threads.
    ///
    /// # Errors
    /// [`Engine`](ErrorKind::Engine) if the threads do not start.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(AppOptions::default())
    }

    /// An application with options of its own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(options: AppOptions) -> Result<Self, Error> {
        let threads = Arc::new(Threads::start()?);
        let executor: Arc<dyn Executor> = threads.clone();
        let bus = Bus::new(executor.clone(), options.bus.clone());
        let means = Means {
            options: options.router.clone(),
            bus,
            executor,
        };
        let engines = Arc::new(Engines::new(&options)?);
        let state = Mutex::new(State {
            binder: Binder::default(),
            records: Vec::new(),
            histories: BTreeMap::new(),
        });
        let app = Self(Arc::new(Inner {
            engines,
            threads,
            means,
            state,
        }));
        app.keep_tidy();
        Ok(app)
    }

    /// Registers a route by hand, for any method (spec M2): an HTTP token, in the case in which clients send it.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if the method is no token, the path no pattern, or the route in conflict with
    /// another (spec P7).
    pub fn register_route(&self, method: &str, path: &str, handler: impl Handler) -> Result<&Self, Error> {
        let filter = MethodFilter::parse(Some(method)).map_err(|error| {
            Error::new(ErrorKind::Refused, format!("the route for `{path}` is refused")).with_source(error)
        })?;
        self.register(filter, path, Arc::new(handler))
    }

    fn register(&self, filter: MethodFilter, path: &str, handler: Arc<dyn Handler>) -> Result<&Self, Error> {
        let shown = filter.to_string();
        self.change(|binder| {
            binder.add_manual(filter, path, handler).map_err(|error| {
                Error::new(ErrorKind::Refused, format!("route {shown} `{path}` is refused")).with_source(error)
            })?;
            Ok(())
        })?;
        Ok(self)
    }

    /// A channel of the host application, to bind listeners to (spec C1, C3).
    pub fn channel(&self, name: impl Into<String>) -> Channel {
        Channel::new(self.0.means.bus.clone(), name.into())
    }

    /// The door to the application's events for code outside any request. It does not keep the application: when that is
    /// gone, calls fail with the code `gone`.
    pub fn caller(&self) -> Caller {
        self.0.means.bus.caller()
    }

    /// The bus that carries the application's events.
    pub fn bus(&self) -> &Bus {
        &self.0.means.bus
    }

    /// Loads a module under a name that no other has, with the application's limits.
    ///
    /// The component is checked, compiled and asked for its routes and channels before anything changes; then the
    /// listeners and the whole new table are published. Compiling takes from milliseconds to seconds, on a thread of its own.
    ///
    /// # Errors
    /// A refusal names the module and the reason; [`ErrorKind`] tells them apart. The application is as it was before.
    ///
    /// # Cancel safety
    /// Cancelled, the module is not loaded; or it is, whole, if it was about to be published.
    pub async fn load(&self, name: &str, component: impl Into<Vec<u8>>) -> Result<ModuleInfo, Error> {
        self.load_with(name, component, ModuleOptions::default()).await
    }

    /// Loads a module with limits of its own, and with what it is granted; see [`load`](Self::load).
    ///
    /// ```no_run
    /// use pointwork::{Access, App, Directory, Grants, ModuleOptions};
    ///
    /// # async fn load(app: &App, component: Vec<u8>) -> Result<(), pointwork::Error> {
    /// let data = Directory::new("/var/lib/shop", "/data", Access::ReadWrite);
    /// let grants = Grants::new().clocks().directories([data]);
    /// app.load_with("store", component, ModuleOptions::new().grants(grants)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load).
    ///
    /// # Cancel safety
    /// Cancelled, the module is not loaded; or it is, whole, if it was about to be published.
    pub async fn load_with(
        &self,
        name: &str,
        component: impl Into<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<ModuleInfo, Error> {
        let proposal = Proposal::new(ChangeKind::Loaded, name, None);
        let (info, _) = self.install(proposal, component.into(), options).await?;
        Ok(info)
    }

    /// Loads a module from a file; see [`load`](Self::load).
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Read`](ErrorKind::Read).
    ///
    /// # Cancel safety
    /// Cancelled, the module is not loaded; or it is, whole, if it was about to be published.
    pub async fn load_file(&self, name: &str, path: impl AsRef<Path>) -> Result<ModuleInfo, Error> {
        self.load_file_with(name, path, ModuleOptions::default()).await
    }

    /// Loads a module from a file, with limits of its own and with what it is granted; see
    /// [`load_with`](Self::load_with).
    ///
    /// # Errors
    /// As [`load_file`](Self::load_file).
    ///
    /// # Cancel safety
    /// Cancelled, the module is not loaded; or it is, whole, if it was about to be published.
    pub async fn load_file_with(
        &self,
        name: &str,
        path: impl AsRef<Path>,
        options: ModuleOptions,
    ) -> Result<ModuleInfo, Error> {
        let path = path.as_ref().to_owned();
        let read = path.clone();
        let bytes = self.0.threads.spawn_blocking(move || std::fs::read(read)).await;
        let failed = || {
            Error::new(
                ErrorKind::Read,
                format!("module `{name}` cannot be read from `{}`", path.display()),
            )
        };
        let bytes = bytes
            .map_err(|error| failed().with_source(error))?
            .map_err(|error| failed().with_source(error))?;
        self.load_with(name, bytes, options).await
    }

    /// Puts another component in the place of a module, with changed routes and channels if need be: what is in flight
    /// ends on the old one, the next request sees the whole new table (spec S1). It keeps the limits and grants of the
    /// module that it replaces.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Refused`](ErrorKind::Refused) if there is no module of that name. The old module
    /// keeps serving (spec S2).
    ///
    /// # Cancel safety
    /// Cancelled, the old module keeps serving; or the new one does, whole, if it was about to be published.
    pub async fn swap(&self, name: &str, component: impl Into<Vec<u8>>) -> Result<Change, Error> {
        let mut options = expect_module(&self.state().binder, name)?.options.clone();
        options.digest = None;
        self.swap_with(name, component, options).await
    }

    /// Puts another component in the place of a module, with other limits and grants; see [`swap`](Self::swap).
    ///
    /// # Errors
    /// As [`swap`](Self::swap).
    ///
    /// # Cancel safety
    /// As [`swap`](Self::swap).
    pub async fn swap_with(
        &self,
        name: &str,
        component: impl Into<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<Change, Error> {
        let proposal = Proposal::new(ChangeKind::Swapped, name, None);
        let (_, change) = self.install(proposal, component.into(), options).await?;
        Ok(change)
    }

    /// Swaps as [`swap_with`](Self::swap_with) does, for a component that is what the application would be told to load at
    /// its next start: a file of its configuration that has changed. What is uploaded later is then newer than the file.
    ///
    /// Without a state directory ([`AppOptions::state`]) the two are the same.
    ///
    /// # Errors
    /// As [`swap`](Self::swap).
    ///
    /// # Cancel safety
    /// As [`swap`](Self::swap).
    pub async fn reload_with(
        &self,
        name: &str,
        component: impl Into<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<Change, Error> {
        let component = component.into();
        let mut proposal = Proposal::new(ChangeKind::Swapped, name, None);
        proposal.base = Some(digest(&component));
        let (_, change) = self.install(proposal, component, options).await?;
        Ok(change)
    }

    /// Loads the version of a module that was current when the application ended last, if there is a state directory
    /// ([`AppOptions::state`]) that knows one; otherwise `component`. If `component` is another one than it was then, it is
    /// newer than what the state directory has, and is loaded in its stead.
    ///
    /// `None` for `component` is for modules that came while the application served. A module that was removed
    /// stays away: the result is `None`.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`State`](ErrorKind::State).
    ///
    /// # Cancel safety
    /// As [`load`](Self::load).
    pub async fn restore_with(
        &self,
        name: &str,
        component: Option<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<Option<ModuleInfo>, Error> {
        self.restore(name, component, options).await
    }

    /// Makes the version of a module current again that was so before the last swap. What is current now is what the next
    /// roll-back leads to. With a state directory ([`AppOptions::state`]) the version before outlives the process.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if there is no module of that name, or no version before; if the routes of that
    /// version are in conflict with what came since.
    ///
    /// # Cancel safety
    /// Cancelled before it is published, nothing changes.
    pub async fn roll_back(&self, name: &str) -> Result<Change, Error> {
        self.revert(name, None, None).await
    }

    /// Takes a module out, with its routes and its listeners. Requests and events in flight end on it, within
    /// [`ModuleOptions::drain`].
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if there is no module of that name.
    ///
    /// # Cancel safety
    /// Cancelled, the module may be gone or still be there, whole in either case.
    pub async fn remove(&self, name: &str) -> Result<Change, Error> {
        self.publish(Proposal::new(ChangeKind::Removed, name, None)).await
    }

    /// How every module is at this moment, in the order loaded.
    pub fn statuses(&self) -> Vec<ModuleStatus> {
        self.look()
    }

    /// How many requests are under way: those that wait for their reply, and those whose context somebody still holds.
    pub fn requests_in_flight(&self) -> usize {
        self.0.means.bus.requests()
    }

    /// Connects an adapter: every route declared so far is replayed to it, and later ones follow (spec M4).
    ///
    /// An adapter that finds no declared route logs one loud error, since it would answer 404 to everything (spec E3).
    /// Do not also mount the adapter's router at the prefix: its routes would be served at the doubled path (spec G6).
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if the prefix is no path, or the adapter refuses the table.
    pub fn connect_to(&self, transport: impl Transport, options: ConnectOptions) -> Result<&Self, Error> {
        let transport: Arc<dyn Transport> = Arc::new(transport);
        if let Some(prefix) = &options.prefix {
            check_prefix(prefix)?;
        }
        let name = transport.name();
        transport.attach(self.0.means.bus.reporter(name));
        let mut replayed = false;
        self.change(|binder| {
            if options.prefix.is_some() {
                binder.prefix.clone_from(&options.prefix);
            }
            replayed = binder.attach(transport);
            Ok(())
        })?;
        if !replayed {
            tracing::error!(
                adapter = name,
                "the route replay to adapter `{name}` is missing: it received no route, and answers 404 until one is \
                 registered. Likely causes: no module is loaded; a module lists no controllers; a component was built \
                 against an older version of the WIT package"
            );
        }
        Ok(self)
    }

    /// Sets the global prefix: routes that are registered from now on stand under it, earlier ones stay where they are.
    /// It is applied once, also if it is set twice (spec G2, G4).
    ///
    /// A module counts as registered when it first meets an adapter: at [`connect_to`](Self::connect_to), or at its load
    /// if an adapter is connected by then.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if the prefix is no path.
    pub fn set_global_prefix(&self, prefix: &str) -> Result<&Self, Error> {
        check_prefix(prefix)?;
        self.change(|binder| {
            binder.prefix = Some(prefix.to_owned());
            Ok(())
        })?;
        Ok(self)
    }

    /// Every registered route, in the order of registration (spec M3, D9).
    ///
    /// Routes of a module that has not met an adapter yet have the origin `decorator`; the adapter makes it `replay`.
    pub fn routes(&self) -> Vec<RouteRecord> {
        self.state()
            .records
            .iter()
            .map(|record| RouteRecord::clone(record))
            .collect()
    }

    /// Figures of the application.
    pub fn settings(&self) -> Settings {
        Settings {
            route_count: self.state().records.len(),
        }
    }

    /// Every loaded module, in the order loaded.
    pub fn modules(&self) -> Vec<ModuleInfo> {
        self.state()
            .binder
            .modules()
            .map(|module| module.info.clone())
            .collect()
    }

    /// Waits until every emitted event was heard; for the end of a program, after its adapters have stopped.
    ///
    /// # Cancel safety
    /// Cancel safe: bound it with a timeout.
    pub async fn drained(&self) {
        self.0.means.bus.drained().await;
    }

    /// Puts listeners in the place of those that the module of that name has.
    fn stage_listeners(&self, module: &str, listeners: Vec<Subscription>) -> Result<StagedListeners<'_>, Error> {
        let staged = self.0.means.bus.stage(Some(module), listeners);
        staged.map_err(|error| Error::new(ErrorKind::Refused, "its channels are refused").with_source(error))
    }

    /// Changes the binder, whole or not at all.
    fn change(&self, change: impl FnOnce(&mut Binder) -> Result<(), Error>) -> Result<(), Error> {
        let mut state = self.state();
        let mut binder = state.binder.clone();
        change(&mut binder)?;
        let table = binder.stage(&self.0.means)?;
        state.binder = binder;
        state.records = table.publish();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A change is made on a copy, so a panic within one leaves the state whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn expect_module<'a>(binder: &'a Binder, name: &str) -> Result<&'a Arc<Module>, Error> {
    if let Some(module) = binder.module(name) {
        return Ok(module);
    }
    let known: Vec<_> = binder
        .modules()
        .map(|module| format!("`{}`", module.info.name))
        .collect();
    let known = if known.is_empty() {
        "none is loaded".to_owned()
    } else {
        format!("loaded: {}", known.join(", "))
    };
    Err(Error::new(
        ErrorKind::Refused,
        format!("there is no module `{name}`; {known}"),
    ))
}

fn check_prefix(prefix: &str) -> Result<(), Error> {
    Pattern::parse(prefix).map(drop).map_err(|error| {
        Error::new(ErrorKind::Refused, format!("the global prefix `{prefix}` is refused")).with_source(error)
    })
}

macro_rules! verbs {
    ($($verb:ident $method:literal),* $(,)?) => {
        /// One operation for each attribute of the guest SDK (spec M1). Each registers a route by hand, as
        /// [`register_route`](App::register_route) does, with its errors.
        impl App {$(
            #[doc = concat!("Registers a route for ", $method, ".")]
            ///
            /// # Errors
            /// As [`register_route`](App::register_route).
            pub fn $verb(&self, path: &str, handler: impl Handler) -> Result<&Self, Error> {
                self.register_route($method, path, handler)
            }
        )*

            /// Registers a route for every method, extension methods included (spec A7).
            ///
            /// # Errors
            /// As [`register_route`](App::register_route).
            pub fn all(&self, path: &str, handler: impl Handler) -> Result<&Self, Error> {
                self.register(MethodFilter::All, path, Arc::new(handler))
            }
        }
    };
}

verbs! {
    get "GET", post "POST", put "PUT", patch "PATCH", delete "DELETE", head "HEAD", options "OPTIONS", trace "TRACE",
    connect "CONNECT", purge "PURGE", search "SEARCH", propfind "PROPFIND", proppatch "PROPPATCH", mkcol "MKCOL",
    copy "COPY", r#move "MOVE", lock "LOCK", unlock "UNLOCK", acl "ACL", report "REPORT",
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let modules: Vec<_> = state.binder.modules().map(|module| &module.info.name).collect();
        f.debug_struct("App")
            .field("modules", &modules)
            .field("routes", &state.records.len())
            .finish_non_exhaustive()
    }
}
