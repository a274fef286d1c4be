//! From the bytes of a component to a [`ModulePre`].

use std::sync::Arc;

use pointwork_core::Caller;
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use crate::app::options::{Isolation, ModuleLimits, ModuleOptions};
use crate::component::compiler::blocking;
use crate::component::engine::{Engines, LinkedEngine};
use crate::component::inspect::{Conformance, Form, Inspection, inspect};
use crate::component::module_pre::ModulePre;
use crate::component::settings::CodeSettings;
use crate::scheduling::metrics::Metrics;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, Grants};

/// What comes of compiling a component.
pub(crate) struct Compiled {
    pub(crate) pre: ModulePre,
    /// Whether its handlers only read their requests.
    pub(crate) pure: bool,
    pub(crate) inspection: Inspection,
    pub(crate) fit: Conformance,
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
    options: ModuleOptions,
    engines: &Arc<Engines>,
    threads: &Arc<Threads>,
    bus: Caller,
) -> Result<Compiled, Error> {
    let compiler = engines.compiler();
    compiler.check_size(bytes.len())?;
    let stack = options.limits.as_ref().unwrap_or_else(|| engines.limits()).stack;
    let checked = {
        let (bytes, grants, engines) = (bytes.clone(), options.grants.clone(), engines.clone());
        blocking(threads, move || check(&bytes, &grants, stack, &engines)).await?
    };
    let component = compiler
        .component(checked.settings, &checked.shared.engine, bytes, threads)
        .await?;
    let (name, engines) = (name.to_owned(), engines.clone());
    blocking(threads, move || link(&name, component, checked, options, &engines, bus)).await
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

/// Makes of a compiled component what instances are made of.
fn link(
    name: &str,
    component: Component,
    checked: Checked,
    options: ModuleOptions,
    engines: &Engines,
    bus: Caller,
) -> Result<Compiled, Error> {
    let Checked {
        inspection,
        fit,
        shared,
        ..
    } = checked;
    let limits = options.limits.as_ref().unwrap_or_else(|| engines.limits());
    let asks_for_more = inspection.foreign_imports().next().is_some();
    let instance_pre = shared.link(&component, asks_for_more).map_err(|error| {
        Error::new(
            ErrorKind::Compile,
            "the component does not link with this host's contract",
        )
        .with_source(error.into_boxed_dyn_error())
        .with_hint("build the module with an SDK of this host's version")
    })?;
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
    let limits = isolated(limits.clone(), &options, &inspection, &fit)?;
    let name: Arc<str> = name.into();
    let pre = ModulePre {
        metrics: Arc::new(Metrics::new(&name, &options.breaker, &options.trial, bus)),
        cut: CancellationToken::new(),
        retired: Arc::default(),
        shares: fit.form == Form::Asynchronous && limits.in_flight > 1,
        asks_for_more,
        name,
        declare_routes: of(fit.controllers, "routes", "declare-routes")?,
        handle: of(fit.controllers, handlers, "handle")?,
        declare_channels: of(fit.channels, "channels", "declare-channels")?,
        deliver: of(fit.channels, listeners, "deliver")?,
        instance_pre,
        limits,
        grants: Arc::new(options.grants),
    };
    Ok(Compiled {
        pre,
        pure: !fit.channels && !asks_for_more && is_pure(&component),
        inspection,
        fit,
    })
}

/// The limits of a module with what its isolation makes of them.
fn isolated(
    mut limits: ModuleLimits,
    options: &ModuleOptions,
    inspection: &Inspection,
    fit: &Conformance,
) -> Result<ModuleLimits, Error> {
    match options.isolation {
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

/// Whether a component imports only what reads a request. Nothing that such a component does can be seen from outside
/// but its value, and it never waits.
fn is_pure(component: &Component) -> bool {
    const READERS: [&str; 11] = [
        "context",
        "[method]context.method",
        "[method]context.path",
        "[method]context.query",
        "[method]context.param",
        "[method]context.params",
        "[method]context.header",
        "[method]context.headers",
        "[method]context.request-id",
        "[method]context.route",
        "[method]context.extension",
    ];
    let engine = component.engine();
    component
        .component_type()
        .imports(engine)
        .all(|(name, import)| match import.ty {
            ComponentItem::ComponentInstance(instance) if name.contains("/context@") => instance
                .exports(engine)
                .all(|(name, export)| !is_function(&export.ty) || READERS.contains(&name)),
            _ => true,
        })
}

fn is_function(item: &ComponentItem) -> bool {
    matches!(item, ComponentItem::ComponentFunc(_))
}
