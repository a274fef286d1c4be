//! The manifest of a module: its declarations, read from an instance and checked.

mod check;
mod difference;
#[cfg(any(test, fuzzing))]
#[path = "../../../../../tests/fuzz/targets/declarations.rs"]
pub(crate) mod fuzz;
mod size;
mod variables;

use std::sync::Arc;

use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use pointwork_core::{BodyMode, Charge, Executor as _, within};
use wasmtime::Store;
use wasmtime::component::TypedFunc;

use self::check::{body_modes, check};
use self::difference::first_difference;
use self::size::size;
pub(crate) use self::variables::NeededVariables;
use super::module_pre::ModulePre;
use crate::Grants;
use crate::guest::Guest;
use crate::guest::bindings::manifest;
use crate::guest::memory::is_out_of_fuel;
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::meter::{Metered, SLICE, run_to_end};
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, OrError};

/// The largest manifest, in bytes: its texts, and its records as the host holds them.
const MAX_BYTES: usize = 8 * 1024 * 1024;

const REFUSED: &str = "its declarations are refused";

/// The most bytes of this module's manifest.
fn most(pre: &ModulePre) -> usize {
    usize::try_from(pre.version.limits.host_memory).map_or(MAX_BYTES, |limit| limit.min(MAX_BYTES))
}

/// Counts what the host keeps of a manifest: the manifest, its texts again as they are shown and as they are registered,
/// and a handler or a listener for each route and each event.
fn charge(pre: &ModulePre, declared: &manifest::Manifest, routes: usize) -> Result<Charge, Error> {
    const REGISTERED: usize = 1024;
    let listeners: usize = declared.channels.iter().map(|channel| channel.listeners.len()).sum();
    let bytes = 3 * size(declared) + REGISTERED * (routes + listeners);
    let version = &pre.version;
    version.memory.charge_declarations(bytes).map_err(|exceeded| {
        let message = format!(
            "the declarations of module `{}` take {bytes} bytes: {exceeded}",
            version.module
        );
        Error::new(ErrorKind::Refused, message)
    })
}

/// The declarations of a version of a module.
pub(crate) struct Manifest {
    /// The routes with the way in which each takes the request's body, in the module's order.
    pub(crate) routes: Vec<(DeclaredRoute, BodyMode)>,
    /// Everything, as the module declares it.
    pub(crate) declared: manifest::Manifest,
    pub(crate) variables: NeededVariables,
    /// Counts it for as long as the version is there.
    _charge: Charge,
}

impl Manifest {
    /// Reads the declarations, twice, from an instance with nothing granted, within the limit for that, and checks them.
    pub(crate) async fn read(pre: &Arc<ModulePre>, threads: &Arc<Threads>) -> Result<Self, Error> {
        let limit = pre.version.limits.probe;
        let (version, timers) = (pre.clone(), threads.clone());
        let until = threads.now() + limit;
        // A component that loops while its declarations are read must not hold up those that serve.
        let reading = GuestWork::new(async move { within(&*timers, until, describe(&version)).await });
        let failed = |message: &str| Error::new(ErrorKind::Probe, message.to_owned());
        let (declared, again) = match run_to_end(Metered::new(reading, SLICE, limit, Arc::default()), threads).await {
            Ok(Some(Some(Ok(both)))) => both,
            Ok(Some(Some(Err(trap)))) => return Err(unreadable(pre, trap)),
            Ok(Some(None) | None) => {
                return Err(failed(&format!("reading its manifest took longer than {limit:?}")));
            }
            Err(panic) => return Err(failed("reading its manifest panicked").with_source(panic)),
        };
        let module = &*pre.version.module;
        // Before anything is made of them: it checks their number.
        check(module, &declared).or_error(ErrorKind::Refused, REFUSED)?;
        if let Some(place) = first_difference(&declared, &again) {
            let message = format!("its manifest differs when it is read again, first at `{place}`");
            return Err(Error::new(ErrorKind::Refused, message)
                .with_hint("a manifest depends on nothing but the module: no random number, no time, no setting"));
        }
        let routes = routes(module, &declared)?;
        let variables = NeededVariables::read(module, &declared.metadata).or_error(ErrorKind::Refused, REFUSED)?;
        Ok(Self {
            variables,
            _charge: charge(pre, &declared, routes.len())?,
            routes,
            declared,
        })
    }
}

/// The routes of a manifest that was checked.
fn routes(module: &str, declared: &manifest::Manifest) -> Result<Vec<(DeclaredRoute, BodyMode)>, Error> {
    let controllers: Vec<_> = declared.controllers.iter().map(declaration).collect();
    let routes = validate(module, &controllers).or_error(ErrorKind::Refused, REFUSED)?;
    let modes = body_modes(module, declared).or_error(ErrorKind::Refused, REFUSED)?;
    Ok(routes.into_iter().zip(modes).collect())
}

/// The manifest, and what the same instance declares when it is called again.
async fn describe(pre: &ModulePre) -> wasmtime::Result<(manifest::Manifest, manifest::Manifest)> {
    // The version has its share, of which this is the first.
    let _slot = pre.tenancy.take();
    let mut store = pre.store_with(&Arc::new(Grants::default()))?;
    store.set_hostcall_fuel(most(pre));
    let instance = pre.instantiate(&mut store).await?;
    let describe = instance.get_typed_func::<(), (manifest::Manifest,)>(&mut store, pre.describe)?;
    let first = described(&mut store, describe).await?;
    Ok((first, described(&mut store, describe).await?))
}

type Describe = TypedFunc<(), (manifest::Manifest,)>;

async fn described(store: &mut Store<Guest>, describe: Describe) -> wasmtime::Result<manifest::Manifest> {
    let described = describe.call_async(&mut *store, ()).await;
    store.data_mut().end_lines();
    let (manifest,) = described.map_err(|error| {
        let panic = store.data_mut().take_panic();
        let panicked = panic.map(|panic| format!(": the guest panicked: {panic}"));
        error.context(format!("its `describe` failed{}", panicked.unwrap_or_default()))
    })?;
    Ok(manifest)
}

fn unreadable(pre: &ModulePre, trap: wasmtime::Error) -> Error {
    let most = most(pre);
    let message = match is_out_of_fuel(&format!("{trap:?}")) {
        true if most < MAX_BYTES => format!("its manifest is over {most} bytes, the limit `host-memory` of the module"),
        true => format!("its manifest is over {MAX_BYTES} bytes"),
        false => "reading its manifest failed".to_owned(),
    };
    Error::new(ErrorKind::Probe, message).with_source(trap)
}

fn declaration(controller: &manifest::Controller) -> ControllerDeclaration {
    let routes = controller.routes.iter().map(|route| RouteDeclaration {
        handler: route.handler,
        name: route.name.clone(),
        method: route.method.clone(),
        paths: route.paths.clone(),
    });
    ControllerDeclaration {
        name: controller.name.clone(),
        prefix: controller.prefix.clone(),
        routes: routes.collect(),
    }
}
