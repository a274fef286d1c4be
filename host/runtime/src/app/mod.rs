//! The application: what an embedder holds.

pub(crate) mod binder;
pub(crate) mod builder;
mod call_recorder;
pub(crate) mod changes;
pub(crate) mod channel;
mod close;
mod connect;
mod drain;
mod event_names;
mod handle;
mod health;
pub(crate) mod info;
mod install;
mod manual_routes;
pub(crate) mod module;
pub(crate) mod options;
mod publish;
mod restore;
mod roll_back;
mod state;
pub(crate) mod status;
mod trial;

use std::fmt;
use std::sync::Arc;

use pointwork_core::{Bus, Caller, DurableOptions, EventStore, RouteDurations, RouteRecord};

use crate::app::builder::ModuleBuilder;
use crate::app::changes::Change;
use crate::app::channel::Channel;
use crate::app::module::ModuleInfo;
use crate::app::options::AppOptions;
use crate::app::publish::Proposal;
use crate::app::state::AppInner;
use crate::app::status::ModuleStatus;
use crate::{Error, ErrorKind, OrError};

/// An application: modules, channels and manual routes, served by the adapters that it is connected to.
///
/// In a debug build it loads modules slowly, unless the compiler of wasmtime is optimised: see
/// [Debug builds](crate#debug-builds).
///
/// Cheap to clone; all clones are one application. It serves until it is [closed](Self::close), or the last clone
/// and the last adapter are dropped. A program closes it before it ends, since emitted events are lost otherwise.
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
pub struct App(Arc<AppInner>);

/// Figures of an application (spec M5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppSettings {
    /// The number of registered routes.
    pub route_count: usize,
}

impl App {
    /// An application with the default options. Starts its threads.
    ///
    /// # Errors
    /// [`Engine`](crate::ErrorKind::Engine) if the threads do not start.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(AppOptions::new())
    }

    /// An application with options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(options: AppOptions) -> Result<Self, Error> {
        let app = Self(Arc::new(AppInner::new(options)?));
        // Without a route, requests get 404.
        app.change(|_| Ok(()))?;
        app.start_maintenance();
        Ok(app)
    }

    /// A channel of the host application, to bind listeners to (spec C1, C3).
    pub fn channel(&self, name: impl Into<String>) -> Channel {
        Channel::new(self.bus().clone(), name.into())
    }

    /// Makes a channel durable: what is emitted to it is kept in the store before the reply of its request goes out, and is
    /// delivered at least once (spec N1). `call` is as before. Listeners of the channel may be bound before or after, and may be
    /// in another process if the store is.
    ///
    /// It may block, while the store is opened.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) for a name that is none, for the channel `server`, for a channel that is durable
    /// already, and if the store keeps events of the channel under settings that do not fit;
    /// [`Closed`](crate::ErrorKind::Closed).
    pub fn make_durable(
        &self,
        channel: &str,
        options: DurableOptions,
        store: Arc<dyn EventStore>,
    ) -> Result<(), Error> {
        let made = self.bus().make_durable(channel, options, store);
        made.or_error(
            ErrorKind::Refused,
            format!("the channel `{channel}` cannot be made durable"),
        )
    }

    /// Calls and emits the application's events from code outside any request. It does not keep the application alive:
    /// after the end of that, calls fail with the code `gone`.
    pub fn caller(&self) -> Caller {
        self.bus().caller()
    }

    /// The bus that carries the application's events.
    pub fn bus(&self) -> &Bus {
        &self.0.routers.bus
    }

    /// Begins to load, swap or restore the module of that name; [`ModuleBuilder`] has an example.
    pub fn module(&self, name: impl Into<String>) -> ModuleBuilder {
        ModuleBuilder::new(self.clone(), name.into())
    }

    /// Makes the version of a module current again that the last swap replaced. The next roll-back leads back to the
    /// version that is current now. With a state directory ([`AppOptions::state`](field@AppOptions::state)) the previous version survives a
    /// restart.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if there is no module of that name, or it has no previous version; or if
    /// the routes of that are in conflict with routes that were registered since.
    ///
    /// # Cancel safety
    /// Cancelled before it is published, nothing changes.
    pub async fn roll_back(&self, name: &str) -> Result<Change, Error> {
        self.revert(name, None).await
    }

    /// Removes a module, with its routes and its listeners. Calls in flight end on it, within [`ModuleOptions::drain`](field@crate::ModuleOptions::drain).
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if there is no module of that name.
    ///
    /// # Cancel safety
    /// Cancelled, the module is either removed or still there, whole in either case.
    pub async fn remove(&self, name: &str) -> Result<Change, Error> {
        let name = name.to_owned();
        self.publish(Proposal::Remove { name }).await
    }

    /// The status of every module, in the order loaded.
    pub fn statuses(&self) -> Vec<ModuleStatus> {
        let state = self.state();
        let directory = self.directory();
        let status = |module| state.status(module, directory.as_ref());
        state.binder.modules().map(status).collect()
    }

    /// The number of requests in flight: those that wait for their reply, and those whose context is still held.
    pub fn requests_in_flight(&self) -> usize {
        self.bus().requests()
    }

    /// The durations of the requests since the application was made, by route and class of status, of all adapters together;
    /// only those with a request. See [`RequestDurations`](pointwork_core::RequestDurations).
    ///
    /// ```
    /// # use pointwork::{App, Body, Context, http::Request};
    /// # let app = App::new().unwrap();
    /// # app.get("/products/:id", |_: Context| async { "tea" }).unwrap();
    /// # let request = Request::get("/products/1").header("host", "localhost").body(Body::empty()).unwrap();
    /// # futures_executor::block_on(app.handle(request));
    /// for durations in app.request_durations() {
    ///     let count: u64 = durations.counts.iter().sum();
    ///     assert_eq!((durations.route.as_deref(), durations.status_class, count), (Some("/products/:id"), 2, 1));
    /// }
    /// ```
    pub fn request_durations(&self) -> Vec<RouteDurations> {
        self.0.routers.durations.snapshot()
    }

    /// Every registered route, in the order of registration (spec M3, D9).
    ///
    /// Routes of a module that has not met an adapter yet have the origin `decorator`; the adapter makes it `replay`.
    pub fn routes(&self) -> Vec<RouteRecord> {
        let state = self.state();
        let records = state.records.iter();
        records.map(|record| state.binder.with_unreached(record)).collect()
    }

    /// Figures of the application.
    pub fn settings(&self) -> AppSettings {
        AppSettings {
            route_count: self.state().records.len(),
        }
    }

    /// Every loaded module, in the order loaded.
    pub fn modules(&self) -> Vec<ModuleInfo> {
        let state = self.state();
        state.binder.modules().map(|module| module.info.clone()).collect()
    }
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
