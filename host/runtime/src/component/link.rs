//! From the bytes of a component to a [`ModulePre`]: checked, compiled, linked.

use std::sync::Arc;

use bytes::Bytes;
use pointwork_core::{Caller, Executor};
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use crate::component::engine::{Engines, LinkedEngine};
use crate::component::inspect::{Form, Inspection, inspect};
use crate::component::module_pre::ModulePre;
use crate::component::pool_account::Tenancy;
use crate::guest::VersionState;
use crate::guest::events_used::EventsUsed;
use crate::guest::memory::HostMemory;
use crate::guest::stream_permits::StreamPermits;
use crate::scheduling::admission::Admission;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, Isolation, ModuleLimits, ModuleOptions, OrError};

/// Checks a component and compiles it, within the bounds of the application ([`CompileOptions`](crate::CompileOptions)).
/// Long work runs on other threads.
///
/// # Cancel safety
/// Cancelled, it has no effect; see [`Compiler::component`](crate::component::compiler::Compiler::component).
pub(crate) async fn compile(
    name: &str,
    bytes: Bytes,
    options: &ModuleOptions,
    engines: &Arc<Engines>,
    threads: &Arc<Threads>,
    bus: Caller,
) -> Result<(ModulePre, Inspection), Error> {
    let compiler = &engines.compiler;
    compiler.check_size(bytes.len())?;
    let limits = options.limits.as_ref().unwrap_or(&engines.limits).clone();
    let (stack, options) = (limits.stack, options.clone());
    let checking = {
        let (bytes, engines, grants) = (bytes.clone(), engines.clone(), options.grants.clone());
        move || {
            let inspection = inspect(&bytes)?;
            let form = inspection.check()?;
            inspection.check_grants(&grants)?;
            let code = engines.code(form, stack);
            Ok((inspection, code, engines.engine(code)?))
        }
    };
    let (inspection, code, engine) = threads.blocking(ErrorKind::Compile, checking).await?;
    let component = compiler.component(code, &engine.engine, bytes, threads).await?;
    let name: Arc<str> = name.into();
    let wait = (limits.queue_wait, &**threads as &dyn Executor);
    let tenancy = engine.account.join(&name, &component, limits.instances, wait).await?;
    let executor = threads.clone();
    let linking = move || {
        let limits = isolated(limits, options.isolation, &inspection, code.form)?;
        let guest = VersionState {
            admission: Arc::new(Admission::new(&name, &options.breaker, &options.trial, bus)),
            module: name,
            events_used: EventsUsed::default(),
            shares: code.form == Form::Asynchronous && limits.in_flight > 1,
            uses_wasi: inspection.foreign_imports().next().is_some(),
            memory: HostMemory::new(limits.host_memory),
            clock: executor.clock().clone(),
            streams: Arc::new(StreamPermits::new(&limits, executor)),
            limits,
            grants: Arc::new(options.grants),
            variables: options.variables.values().clone(),
        };
        let pre = link(&component, &engine, &inspection, code.form, guest, tenancy)?;
        Ok((pre, inspection))
    };
    threads.blocking(ErrorKind::Compile, linking).await
}

fn link(
    component: &Component,
    engine: &LinkedEngine,
    inspection: &Inspection,
    form: Form,
    version: VersionState,
    tenancy: Arc<Tenancy>,
) -> Result<ModulePre, Error> {
    let instance_pre = engine
        .link(component, version.uses_wasi)
        .or_error(
            ErrorKind::Compile,
            "the component imports a function that this host does not have",
        )
        .map_err(|error| error.with_hint("update the host, or build the module with the SDK of this host's version"))?;
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
    Ok(ModulePre {
        form,
        describe: export("manifest", "describe")?,
        handle: export(form.handlers(), "handle")?,
        deliver: export(form.listeners(), "deliver")?,
        instance_pre,
        version,
        tenancy,
        cut: CancellationToken::new(),
        retired: Arc::default(),
    })
}

/// The limits of a module with what its isolation makes of them.
fn isolated(
    mut limits: ModuleLimits,
    isolation: Option<Isolation>,
    inspection: &Inspection,
    form: Form,
) -> Result<ModuleLimits, Error> {
    match isolation {
        Some(Isolation::Shared) if form == Form::Synchronous => {
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
        // Each of its calls holds up the next one, which may be what the first waits for.
        limits.in_flight = 1;
    }
    Ok(limits)
}
