//! The builder that loads, swaps or restores one module.

use std::path::PathBuf;
use std::time::Duration;

use pointwork_core::read_file;

use super::App;
use crate::app::changes::Change;
use crate::app::module::ModuleInfo;
use crate::app::publish::Purpose;
use crate::{Breaker, Error, ErrorKind, Grants, Isolation, ModuleLimits, ModuleOptions, OrError, Trial};

/// Loads, swaps or restores one module: its component, its options, then [`load`](Self::load), [`swap`](Self::swap) or
/// [`restore`](Self::restore). [`App::module`] makes it.
///
/// ```no_run
/// use pointwork::{Access, App, Directory, Grants, ModuleLimits};
///
/// # async fn load(app: &App, newer: Vec<u8>) -> Result<(), pointwork::Error> {
/// let data = Directory::new("/var/lib/shop", "/data", Access::ReadWrite);
/// app.module("store")
///     .file("store.wasm")
///     .grants(Grants::new().clocks().directories([data]))
///     .limits(ModuleLimits::new().memory(128 << 20))
///     .load()
///     .await?;
/// // The module keeps its grants and limits.
/// let change = app.module("store").bytes(newer).swap().await?;
/// println!("{} routes are new", change.routes.added.len());
/// # Ok(())
/// # }
/// ```
#[derive(derive_more::Debug)]
#[must_use = "nothing happens until `load`, `swap` or `restore`"]
pub struct ModuleBuilder {
    #[debug(skip)]
    app: App,
    name: String,
    #[debug(skip)]
    bytes: Option<Vec<u8>>,
    file: Option<PathBuf>,
    configured: bool,
    /// The options that are set, in their order.
    #[debug(skip)]
    settings: Vec<Setting>,
}

type Setting = Box<dyn FnOnce(ModuleOptions) -> ModuleOptions + Send>;

macro_rules! options {
    ($($option:ident($value:ident: $type:ty) => $set:expr;)*) => {$(
        #[doc = concat!("Sets [`ModuleOptions::", stringify!($option), "`](field@ModuleOptions::", stringify!($option), ").")]
        pub fn $option(self, $value: $type) -> Self {
            let value = $set;
            self.set(move |options| options.$option(value))
        }
    )*};
}

impl ModuleBuilder {
    pub(super) fn new(app: App, name: String) -> Self {
        Self {
            app,
            name,
            bytes: None,
            file: None,
            configured: false,
            settings: Vec::new(),
        }
    }

    /// The component.
    pub fn bytes(mut self, component: impl Into<Vec<u8>>) -> Self {
        self.bytes = Some(component.into());
        self
    }

    /// The file with the component, a regular one, which is read once. No more than
    /// [`CompileOptions::size`](crate::CompileOptions::size) and one byte of it is read.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// The application will be configured with this component at its next start, such as a file that changed: the state
    /// directory ([`AppOptions::state`](field@crate::AppOptions::state)) records it as the base, with which
    /// [`restore`](Self::restore) compares. Without a state directory this changes nothing.
    pub fn configured(mut self) -> Self {
        self.configured = true;
        self
    }

    options! {
        limits(limits: ModuleLimits) => limits;
        grants(grants: Grants) => grants;
        isolation(isolation: Isolation) => isolation;
        breaker(breaker: Breaker) => breaker;
        trial(trial: Trial) => trial;
        drain(drain: Duration) => drain;
        health(path: impl Into<String>) => path.into();
        digest(digest: impl Into<String>) => digest.into();
        channels(channels: Vec<String>) => channels;
    }

    /// Sets all options, those that were set before included.
    pub fn options(self, options: ModuleOptions) -> Self {
        self.set(move |_| options)
    }

    fn set(mut self, setting: impl FnOnce(ModuleOptions) -> ModuleOptions + Send + 'static) -> Self {
        self.settings.push(Box::new(setting));
        self
    }

    /// Loads the module under a new name. Options that are not set have their defaults.
    ///
    /// First the component is checked and compiled, and its routes and channels are read. Then its listeners and the
    /// new route table are published. Compiling takes from milliseconds to seconds, on a thread of its own.
    ///
    /// A warning is logged for each event that the module uses and that nobody listens to (spec C4); for modules that are
    /// loaded before the first adapter is connected, at its connection.
    ///
    /// # Errors
    /// A refusal names the module and the reason; [`ErrorKind`] distinguishes them. The application stays unchanged.
    /// [`Refused`](ErrorKind::Refused) without a component, or with bytes and a file.
    ///
    /// # Cancel safety
    /// Cancelled, the module is either not loaded, or loaded whole if it was about to be published.
    pub async fn load(self) -> Result<ModuleInfo, Error> {
        self.load_new().await.map(|(info, _)| info)
    }

    /// Replaces the component of a module; its routes and channels may change. Calls in flight end on the old version,
    /// the next request meets the whole new table (spec S1).
    ///
    /// The module keeps the options that are not set, [`digest`](Self::digest) aside. If it serves these bytes with these
    /// options already, nothing changes: the result is [`Unchanged`](crate::ChangeKind::Unchanged), no `server:changed` is
    /// emitted, and a roll-back leads where it led before (spec S4).
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Refused`](ErrorKind::Refused) if the application has no module of that name. The old
    /// version keeps serving (spec S2).
    ///
    /// # Cancel safety
    /// Cancelled, either the old version keeps serving, or the new one serves whole if it was about to be published.
    pub async fn swap(mut self) -> Result<Change, Error> {
        let component = self.expect_component().await?;
        let mut current = self.app.open_state()?.binder.expect_module(&self.name)?.options.clone();
        current.digest = None;
        let options = self.options_from(current);
        let base = self.base(&component);
        let (_, change) = self
            .app
            .install(&self.name, Purpose::Swap { base }, component, options)
            .await?;
        Ok(change)
    }

    /// [Loads](Self::load) the module, or [swaps](Self::swap) its component if the application has a module of that name.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    ///
    /// # Cancel safety
    /// As [`load`](Self::load) and [`swap`](Self::swap).
    pub async fn load_or_swap(self) -> Result<Change, Error> {
        if self.app.open_state()?.binder.module(&self.name).is_some() {
            return self.swap().await;
        }
        self.load_new().await.map(|(_, change)| change)
    }

    /// Loads the version of the module that was current when the application ended last, if the state directory
    /// ([`AppOptions::state`](field@crate::AppOptions::state)) knows one; otherwise the component. If the component is
    /// another one than at the last start, it is newer than the state directory, and is loaded. Options that are not set
    /// have their defaults.
    ///
    /// If the recorded version is damaged, the intact previous version is loaded in its place, or else the component, and
    /// [`App::restore_failures`] names it. If there is none, the routes of the module answer 503 until a version of it is loaded or
    /// it is removed. A record that cannot be written is a warning, as long as the version stays the same.
    ///
    /// A module that was loaded while the application served has no component here. For a module that was removed the
    /// result is `None`, and nothing is loaded.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`State`](ErrorKind::State).
    ///
    /// # Cancel safety
    /// As [`load`](Self::load).
    pub async fn restore(mut self) -> Result<Option<ModuleInfo>, Error> {
        let component = self.component().await?;
        let options = self.options_from(ModuleOptions::new());
        self.app.restore(&self.name, component, options).await
    }

    async fn load_new(mut self) -> Result<(ModuleInfo, Change), Error> {
        let component = self.expect_component().await?;
        let options = self.options_from(ModuleOptions::new());
        let base = self.base(&component);
        self.app
            .install(&self.name, Purpose::Load { base }, component, options)
            .await
    }

    async fn expect_component(&mut self) -> Result<Vec<u8>, Error> {
        self.component().await?.ok_or_else(|| {
            let message = format!("module `{}` has no component: expected `bytes` or `file`", self.name);
            Error::new(ErrorKind::Refused, message)
        })
    }

    async fn component(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let path = match (self.bytes.take(), self.file.take()) {
            (bytes, None) => return Ok(bytes),
            (None, Some(path)) => path,
            (Some(_), Some(path)) => {
                let (name, path) = (&self.name, path.display());
                let message = format!("module `{name}` has two components, bytes and the file `{path}`: expected one");
                return Err(Error::new(ErrorKind::Refused, message));
            }
        };
        let message = format!("module `{}` cannot be read from `{}`", self.name, path.display());
        let most = self.app.0.engines.compiler.largest() as u64;
        let read = move || read_file(path, most).or_error(ErrorKind::Read, message);
        self.app.0.threads.blocking(ErrorKind::Read, read).await.map(Some)
    }

    fn options_from(&mut self, options: ModuleOptions) -> ModuleOptions {
        let settings = std::mem::take(&mut self.settings);
        settings.into_iter().fold(options, |options, setting| setting(options))
    }

    /// The base that the state directory records, if there is a new one.
    fn base(&self, component: &[u8]) -> Option<String> {
        self.configured.then(|| crate::digest(component))
    }
}
