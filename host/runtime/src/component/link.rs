//! From the bytes of a component to a [`ModulePre`]: checked, compiled, linked.

use std::sync::Arc;

use pointwork_core::Caller;
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use crate::component::compiler::blocking;
use crate::component::engine::{Engines, LinkedEngine};
use crate::component::inspect::{Conformance, Form, Inspection, inspect};
use crate::component::module_pre::ModulePre;
use crate::component::settings::CodeSettings;
use crate::guest::GuestSettings;
use crate::limits::{Breaker, Isolation, ModuleLimits, Trial};
use crate::scheduling::metrics::Metrics;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, Grants, OrError};

/// A component that was compiled and linked.
pub(crate) struct Compiled {
    pub(crate) pre: ModulePre,
    pub(crate) inspection: Inspection,
    pub(crate) fit: Conformance,
}

/// The options that a component is linked with: see [`ModuleOptions`](crate::ModuleOptions).
pub(crate) struct ModuleSettings {
    pub(crate) limits: ModuleLimits,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) breaker: Breaker,
    pub(crate) trial: Trial,
    pub(crate) grants: Grants,
}

/// A component that was looked at from outside.
struct Checked {
    inspection: Inspection,
    fit: Conformance,
    settings: CodeSettings,
    shared: LinkedEngine,
}

/// Checks a component and compiles it, within the bounds of the application ([`CompileOptions`](crate::CompileOptions)).
/// What takes long runs on other threads.
///
/// # Cancel safety
/// Cancelled, nothing comes of it; see [`Compiler::component`](crate::component::compiler::Compiler::component).
pub(crate) async fn compile(
    name: &str,
    bytes: Arc<[u8]>,
    settings: ModuleSettings,
    engines: &Arc<Engines>,
    threads: &Arc<Threads>,
    bus: Caller,
) -> Result<Compiled, Error> {
    let compiler = engines.compiler();
    compiler.check_size(bytes.len())?;
    let stack = settings.limits.stack;
    let checked = {
        let (bytes, grants, engines) = (bytes.clone(), settings.grants.clone(), engines.clone());
        blocking(threads, move || check(&bytes, &grants, stack, &engines)).await?
    };
    let component = compiler
        .component(checked.settings, &checked.shared.engine, bytes, threads)
        .await?;
    let name = name.to_owned();
    blocking(threads, move || link(&name, component, checked, settings, bus)).await
}

/// Looks at a component from outside, and finds the engine for it.
fn check(bytes: &[u8], grants: &Grants, stack: usize, engines: &Engines) -> Result<Checked, Error> {
    let inspection = inspect(bytes)?;
    let fit = inspection.check(grants)?;
    let settings = CodeSettings { form: fit.form, stack };
    let shared = engines.of(settings)?;
    Ok(Checked {
        inspection,
        fit,
        settings,
        shared,
    })
}

/// Links a compiled component with the host functions.
fn link(
    name: &str,
    component: Component,
    checked: Checked,
    settings: ModuleSettings,
    bus: Caller,
) -> Result<Compiled, Error> {
    let Checked {
        inspection,
        fit,
        shared,
        ..
    } = checked;
    let uses_wasi = inspection.foreign_imports().next().is_some();
    let instance_pre = shared
        .link(&component, uses_wasi)
        .or_error(
            ErrorKind::Compile,
            "the component does not link with this host's contract",
        )
        .map_err(|error| error.with_hint("build the module with an SDK of this host's version"))?;
    let export = |interface: &str, function: &str| {
        let prefix = format!("pointwork:module/{interface}@");
        let name = inspection.exports.iter().find(|name| name.starts_with(&prefix));
        let instance = name.and_then(|name| component.get_export_index(None, name));
        instance
            .and_then(|instance| component.get_export_index(Some(&instance), function))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::WrongWorld,
                    format!("`{prefix}…` has no function `{function}`"),
                )
            })
    };
    let (handlers, listeners) = match fit.form {
        Form::Synchronous => ("handlers", "listeners"),
        Form::Asynchronous => ("handlers-async", "listeners-async"),
    };
    let of = |there: bool, interface: &str, function: &str| there.then(|| export(interface, function)).transpose();
    let limits = isolated(&settings, &inspection, &fit)?;
    let name: Arc<str> = name.into();
    let guest = GuestSettings {
        metrics: Arc::new(Metrics::new(&name, &settings.breaker, &settings.trial, bus)),
        module: name,
        shares: fit.form == Form::Asynchronous && limits.in_flight > 1,
        uses_wasi,
        limits,
        grants: Arc::new(settings.grants),
    };
    let pre = ModulePre {
        declare_routes: of(fit.controllers, "routes", "declare-routes")?,
        handle: of(fit.controllers, handlers, "handle")?,
        declare_channels: of(fit.channels, "channels", "declare-channels")?,
        deliver: of(fit.channels, listeners, "deliver")?,
        instance_pre,
        settings: guest,
        cut: CancellationToken::new(),
        retired: Arc::default(),
    };
    Ok(Compiled { pre, inspection, fit })
}

/// The limits of a module with what its isolation makes of them.
fn isolated(settings: &ModuleSettings, inspection: &Inspection, fit: &Conformance) -> Result<ModuleLimits, Error> {
    let mut limits = settings.limits.clone();
    match settings.isolation {
        Some(Isolation::Shared) if fit.form == Form::Synchronous => {
            let message = "the isolation `shared` is for modules of the asynchronous form, and this one is synchronous: \
                           expected `exclusive` or `fresh`";
            return Err(Error::new(ErrorKind::Refused, message));
        }
        None | Some(Isolation::Shared) => {}
        Some(Isolation::Exclusive) => limits.in_flight = 1,
        Some(Isolation::Fresh) => {
            limits.in_flight = 1;
            limits.reuse = 1;
        }
    }
    if !inspection.has_async_lift {
        // Each of its calls would hold up the next one, which may be what the first waits for.
        limits.in_flight = 1;
    }
    Ok(limits)
}
