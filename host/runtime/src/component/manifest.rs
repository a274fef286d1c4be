//! The declarations of a module: its routes and channels, read from an instance and checked.

use std::sync::Arc;

use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, Instance, Lift};

use super::module_pre::ModulePre;
use crate::guest::Guest;
use crate::guest::bindings::exports::pointwork::module::channels::Channel;
use crate::guest::bindings::exports::pointwork::module::routes::Controller;
use crate::scheduling::meter::{Metered, SLICE, run_to_end};
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, OrError};

/// The declarations of a version of a module.
pub(crate) struct Manifest {
    pub(crate) routes: Vec<DeclaredRoute>,
    pub(crate) channels: Vec<Channel>,
}

impl Manifest {
    /// Makes an instance, within the limit for that, reads its declarations and checks them.
    pub(crate) async fn read(pre: &Arc<ModulePre>, threads: &Threads) -> Result<Self, Error> {
        let limit = pre.settings.limits.probe;
        let version = pre.clone();
        // A component that loops while its declarations are read must not hold up those that serve.
        let reading = Box::pin(async move { tokio::time::timeout(limit, declarations(&version)).await });
        let failed = |message: &str| Error::new(ErrorKind::Probe, message.to_owned());
        let (controllers, channels) =
            match run_to_end(Metered::new(reading, SLICE, limit, Arc::default()), threads).await {
                Ok(Some(Ok(Ok(declarations)))) => declarations,
                Ok(Some(Ok(Err(trap)))) => {
                    return Err(failed("reading its declarations failed").with_source(trap));
                }
                Ok(Some(Err(_)) | None) => {
                    return Err(failed(&format!("reading its declarations took longer than {limit:?}")));
                }
                Err(panic) => return Err(failed("reading its declarations panicked").with_source(panic)),
            };
        let controllers: Vec<_> = controllers.into_iter().map(controller_in).collect();
        let routes = validate(&pre.settings.module, &controllers)
            .or_error(ErrorKind::Refused, "its declarations are refused")?;
        Ok(Self { routes, channels })
    }
}

async fn declarations(pre: &ModulePre) -> wasmtime::Result<(Vec<Controller>, Vec<Channel>)> {
    let mut store = pre.store()?;
    let instance = pre.instance_pre.instantiate_async(&mut store).await?;
    let controllers = declare(&mut store, &instance, pre.declare_routes).await;
    let controllers = controllers.map_err(|error| error.context("its `declare-routes` failed"))?;
    let channels = declare(&mut store, &instance, pre.declare_channels).await;
    let channels = channels.map_err(|error| error.context("its `declare-channels` failed"))?;
    Ok((controllers, channels))
}

/// Calls an export that lists declarations; the list is empty if the module has no such export.
async fn declare<T>(
    store: &mut Store<Guest>,
    instance: &Instance,
    export: Option<ComponentExportIndex>,
) -> wasmtime::Result<Vec<T>>
where
    Vec<T>: Lift + Send + Sync + 'static,
    T: 'static,
{
    let Some(export) = export else {
        return Ok(Vec::new());
    };
    let declare = instance.get_typed_func::<(), (Vec<T>,)>(&mut *store, export)?;
    let (declared,) = declare.call_async(&mut *store, ()).await?;
    Ok(declared)
}

fn controller_in(controller: Controller) -> ControllerDeclaration {
    let routes = controller.routes.into_iter().map(|route| RouteDeclaration {
        handler: route.handler,
        name: route.name,
        method: route.method,
        paths: route.paths,
    });
    ControllerDeclaration {
        name: controller.name,
        prefix: controller.prefix,
        routes: routes.collect(),
    }
}
