//! The application: what an embedder holds.

pub(crate) mod binder;
pub(crate) mod changes;
pub(crate) mod channel;
pub(crate) mod connect;
mod drain;
mod health;
mod install;
mod manual_routes;
pub(crate) mod module;
pub(crate) mod options;
mod publish;
mod restore;
mod roll_back;
mod state;
pub(crate) mod status;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pointwork_core::{Bus, Caller, RouteRecord};

use crate::app::changes::{Change, ChangeKind};
use crate::app::channel::Channel;
use crate::app::module::ModuleInfo;
use crate::app::options::AppOptions;
use crate::app::publish::Proposal;
use crate::app::state::AppInner;
use crate::app::status::ModuleStatus;
use crate::{Error, ModuleOptions, digest};

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
pub struct App(Arc<AppInner>);

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
    /// [`Engine`](crate::ErrorKind::Engine) if the threads do not start.
    pub fn new() -> Result<Self, Error> {
        Self::with_options(AppOptions::default())
    }

    /// An application with options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(options: AppOptions) -> Result<Self, Error> {
        let app = Self(Arc::new(AppInner::new(options)?));
        app.start_maintenance();
        Ok(app)
    }

    /// A channel of the host application, to bind listeners to (spec C1, C3).
    pub fn channel(&self, name: impl Into<String>) -> Channel {
        Channel::new(self.bus().clone(), name.into())
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

    /// Loads a module under a new name, with the application's limits.
    ///
    /// First the component is checked and compiled, and its routes and channels are read. Then its listeners and the
    /// new route table are published. Compiling takes from milliseconds to seconds, on a thread of its own.
    ///
    /// # Errors
    /// A refusal names the module and the reason; [`ErrorKind`](crate::ErrorKind) distinguishes them. The application
    /// stays unchanged.
    ///
    /// # Cancel safety
    /// Cancelled, the module is either not loaded, or loaded whole if it was about to be published.
    pub async fn load(&self, name: &str, component: impl Into<Vec<u8>>) -> Result<ModuleInfo, Error> {
        self.load_with(name, component, ModuleOptions::default()).await
    }

    /// Loads a module with options: limits, grants and more; see [`load`](Self::load).
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
    /// As [`load`](Self::load).
    pub async fn load_with(
        &self,
        name: &str,
        component: impl Into<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<ModuleInfo, Error> {
        let proposal = Proposal::new(ChangeKind::Loaded, name);
        let (info, _) = self.install(proposal, component.into(), options).await?;
        Ok(info)
    }

    /// Loads a module from a file; see [`load`](Self::load).
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Read`](crate::ErrorKind::Read).
    ///
    /// # Cancel safety
    /// As [`load`](Self::load).
    pub async fn load_file(&self, name: &str, path: impl AsRef<Path>) -> Result<ModuleInfo, Error> {
        self.load_file_with(name, path, ModuleOptions::default()).await
    }

    /// Loads a module from a file, with options; see [`load_with`](Self::load_with).
    ///
    /// # Errors
    /// As [`load_file`](Self::load_file).
    ///
    /// # Cancel safety
    /// As [`load`](Self::load).
    pub async fn load_file_with(
        &self,
        name: &str,
        path: impl AsRef<Path>,
        options: ModuleOptions,
    ) -> Result<ModuleInfo, Error> {
        let component = self.read_component(name, path.as_ref()).await?;
        self.load_with(name, component, options).await
    }

    /// Replaces the component of a module; its routes and channels may change. Calls in flight end on the old version,
    /// the next request meets the whole new table (spec S1). The module keeps its limits and grants.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Refused`](crate::ErrorKind::Refused) if there is no module of that name. The old
    /// version keeps serving (spec S2).
    ///
    /// # Cancel safety
    /// Cancelled, either the old version keeps serving, or the new one serves whole if it was about to be published.
    pub async fn swap(&self, name: &str, component: impl Into<Vec<u8>>) -> Result<Change, Error> {
        let mut options = self.state().binder.expect_module(name)?.options.clone();
        options.digest = None;
        self.swap_with(name, component, options).await
    }

    /// Replaces the component of a module and its options; see [`swap`](Self::swap).
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
        let proposal = Proposal::new(ChangeKind::Swapped, name);
        let (_, change) = self.install(proposal, component.into(), options).await?;
        Ok(change)
    }

    /// Swaps as [`swap_with`](Self::swap_with) does, for a component that the application will be configured with at
    /// its next start, such as a file that changed. The state directory records it as the base: see
    /// [`restore_with`](Self::restore_with).
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
        let mut proposal = Proposal::new(ChangeKind::Swapped, name);
        proposal.base = Some(digest(&component));
        let (_, change) = self.install(proposal, component, options).await?;
        Ok(change)
    }

    /// Makes the version of a module current again that the last swap replaced. The next roll-back leads back to the
    /// version that is current now. With a state directory ([`AppOptions::state`]) the previous version survives a
    /// restart.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if there is no module of that name, or it has no previous version; or if
    /// the routes of that are in conflict with routes that were registered since.
    ///
    /// # Cancel safety
    /// Cancelled before it is published, nothing changes.
    pub async fn roll_back(&self, name: &str) -> Result<Change, Error> {
        self.revert(name, None, None).await
    }

    /// Removes a module, with its routes and its listeners. Calls in flight end on it, within [`ModuleOptions::drain`].
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if there is no module of that name.
    ///
    /// # Cancel safety
    /// Cancelled, the module is either removed or still there, whole in either case.
    pub async fn remove(&self, name: &str) -> Result<Change, Error> {
        self.publish(Proposal::new(ChangeKind::Removed, name)).await
    }

    /// The status of every module, in the order loaded.
    pub fn statuses(&self) -> Vec<ModuleStatus> {
        let state = self.state();
        let status = |module| state.status(module, self.0.directory.as_ref());
        state.binder.modules().map(status).collect()
    }

    /// The number of requests in flight: those that wait for their reply, and those whose context is still held.
    pub fn requests_in_flight(&self) -> usize {
        self.bus().requests()
    }

    /// Every registered route, in the order of registration (spec M3, D9).
    ///
    /// Routes of a module that has not met an adapter yet have the origin `decorator`; the adapter makes it `replay`.
    pub fn routes(&self) -> Vec<RouteRecord> {
        let records = &self.state().records;
        records.iter().map(|record| RouteRecord::clone(record)).collect()
    }

    /// Figures of the application.
    pub fn settings(&self) -> Settings {
        Settings {
            route_count: self.state().records.len(),
        }
    }

    /// Every loaded module, in the order loaded.
    pub fn modules(&self) -> Vec<ModuleInfo> {
        let state = self.state();
        state.binder.modules().map(|module| module.info.clone()).collect()
    }

    /// Waits until every emitted event was delivered; for the end of a program, after its adapters have stopped.
    ///
    /// # Cancel safety
    /// Cancel safe: bound it with a timeout.
    pub async fn drained(&self) {
        self.bus().drained().await;
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
