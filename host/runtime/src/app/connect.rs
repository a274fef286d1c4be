//! Connects adapters, at a prefix.

use std::sync::Arc;
use std::time::Duration;

use pointwork_core::routing::Pattern;
use pointwork_core::{Application, ConnectOptions, Executor as _, Transport};

use super::App;
use super::state::AppState;
use crate::app::changes::ChangeKind;
use crate::{Error, ErrorKind, OrError};

/// The time within which an application without a module loads one.
const TIME_WITHOUT_ROUTES: Duration = Duration::from_secs(10);

impl App {
    /// Connects an adapter: it receives every route that is declared so far, and later ones follow (spec M4).
    ///
    /// The options' prefix becomes the global prefix, as by [`set_global_prefix`](Self::set_global_prefix): it covers modules
    /// that no adapter serves yet, loaded before or later, and *no route that was registered by hand before*. Do not also mount the adapter's router at the prefix: its routes would be
    /// served at the doubled path (spec G6).
    ///
    /// A module that is loaded and has a route outside the options' claims is held back: it is removed from the application,
    /// named in the log and in `server:refused`, and stays in the state directory. The others are served.
    ///
    /// With the first adapter, a warning is logged for each event that a module uses and that nobody listens to (spec C4), and for
    /// each durable channel that nobody listens to. One error is logged if modules are loaded and none of them has a route, or if
    /// 10 seconds later there is still no module and no route (spec E3). [`ConnectOptions::without_module_routes`] is for modules that are
    /// meant to have none.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if the prefix or a claim is not a path, the adapter was connected before, or it
    /// refuses the table.
    pub fn connect_to(&self, transport: impl Transport, options: ConnectOptions) -> Result<&Self, Error> {
        let transport: Arc<dyn Transport> = Arc::new(transport);
        let name = transport.name();
        let is_meant = options.without_module_routes;
        let ConnectOptions { prefix, claims, .. } = options;
        let prefix = prefix.map(checked_prefix).transpose()?;
        let claims = claims.map(|claims| claims.iter().map(|claim| checked_claim(claim)).collect());
        let claims = claims.transpose()?;
        let mut held_back = Vec::new();
        self.change(|binder| {
            if prefix.is_some() {
                binder.prefix = prefix;
            }
            let prefix = binder.prefix.as_deref().unwrap_or_default();
            let prefix = Pattern::parse(prefix).or_error(ErrorKind::Refused, "the global prefix is refused")?;
            let attached = transport.attach(self.bus().reporter(name), prefix);
            attached.or_error(ErrorKind::Refused, format!("adapter `{name}` cannot be connected"))?;
            held_back = binder.attach(transport.clone(), claims);
            Ok(())
        })?;
        for (module, error) in held_back {
            let info = &module.info;
            tracing::error!(module = info.name, adapter = name, "the module is held back: {error}");
            if let Ok(no_listeners) = self.bus().stage(Some(&info.name), Vec::new()) {
                no_listeners.publish();
            }
            self.report_refusal(ChangeKind::Loaded, &info.name, Some(info.digest.clone()), &error);
            module.retire();
        }
        let state = self.state();
        if state.binder.transports().count() == 1 {
            state.warn_of_missing_listeners(self.bus(), "", &[]);
            for channel in self.bus().durable_without_listeners() {
                tracing::warn!(channel, "nobody listens to the durable channel: its events wait");
            }
        }
        let has_modules = state.binder.modules().next().is_some();
        if has_modules {
            log_missing_routes(name, &state, is_meant);
        }
        drop(state);
        if !has_modules {
            self.look_later(name, is_meant);
        }
        Ok(self)
    }

    /// Looks for missing routes after a while: the first load may come after the connection.
    fn look_later(&self, adapter: &'static str, is_meant: bool) {
        let (inner, threads) = (Arc::downgrade(&self.0), &self.0.threads);
        let timer = threads.sleep_until(threads.now() + TIME_WITHOUT_ROUTES);
        self.0.threads.spawn_work(async move {
            timer.await;
            let Some(app) = inner.upgrade().map(App) else { return };
            let state = app.state();
            if !state.is_closed {
                log_missing_routes(adapter, &state, is_meant);
            }
        });
    }

    /// Sets the global prefix: routes that are registered from now on stand under it. *Routes that were registered before
    /// stay where they are.* It is applied once, also if it is set twice (spec G2, G4).
    ///
    /// A route by hand is registered at once, a module when it first meets an adapter: at [`connect_to`](Self::connect_to), or
    /// at its load if an adapter is connected by then. A new version stays under the prefix of the one before.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if the prefix is not a path.
    pub fn set_global_prefix(&self, prefix: &str) -> Result<&Self, Error> {
        let prefix = checked_prefix(prefix.to_owned())?;
        self.change(|binder| {
            binder.prefix = Some(prefix);
            Ok(())
        })?;
        Ok(self)
    }
}

/// Logs an error if modules are loaded and none of them has a route, or if there is nothing at all (spec E3). `is_meant` says that modules
/// without routes are.
fn log_missing_routes(adapter: &str, state: &AppState, is_meant: bool) {
    let records = &state.records;
    let modules: Vec<_> = state
        .binder
        .modules()
        .map(|module| format!("`{}`", module.info.name))
        .collect();
    let (is_missing, causes) = if modules.is_empty() {
        (records.is_empty(), "no module is loaded".to_owned())
    } else {
        let has_routes = records.iter().any(|record| record.module.is_some());
        let names = modules.join(", ");
        let causes =
            format!("no controllers with routes are listed by {names}; a component was built with an older SDK");
        (!has_routes && !is_meant, causes)
    };
    if !is_missing {
        return;
    }
    let answers = match records.len() {
        0 => "answers 404 to every request",
        _ => "answers nothing but the routes that were registered by hand",
    };
    tracing::error!(
        target: "pointwork::replay",
        adapter,
        "the route replay is missing: adapter `{adapter}` received no route of a module, and {answers}. Likely causes: {causes}"
    );
}

impl Application for App {
    type Error = Error;

    fn connect(&self, transport: impl Transport, options: ConnectOptions) -> Result<(), Error> {
        self.connect_to(transport, options).map(drop)
    }
}

fn checked_prefix(prefix: String) -> Result<String, Error> {
    let message = || format!("the global prefix `{prefix}` is refused");
    match Pattern::parse(&prefix) {
        Ok(_) => Ok(prefix),
        Err(error) => Err(Error::new(ErrorKind::Refused, message()).with_source(error)),
    }
}

fn checked_claim(claim: &str) -> Result<Pattern, Error> {
    let message = || format!("the claim `{claim}` is refused");
    let pattern = Pattern::parse(claim).or_error(ErrorKind::Refused, message())?;
    if pattern.param_names().is_empty() {
        return Ok(pattern);
    }
    Err(Error::new(ErrorKind::Refused, message()).with_hint("a claim has no parameters, such as `admin/reports`"))
}
