//! A module that can make instances of itself, and the first of them, which is asked what the module declares.

use std::sync::Arc;

use pointwork_core::{Crash, CrashKind};
use wasmtime::component::{ComponentExportIndex, Instance, InstancePre, Lift};
use wasmtime::{PoolConcurrencyLimitError, Store, StoreLimitsBuilder, Trap};

use crate::bindings::exports::pointwork::module::channels::Channel;
use crate::bindings::exports::pointwork::module::routes::Controller;
use crate::executor::Threads;
use crate::guest::Guest;
use crate::options::ModuleLimits;
use crate::{Error, ErrorKind, Grants};

/// A module that can make instances of itself: what both forms share.
pub(crate) struct Template {
    pub(crate) name: Arc<str>,
    pub(crate) pre: InstancePre<Guest>,
    pub(crate) declare_routes: Option<ComponentExportIndex>,
    pub(crate) handle: Option<ComponentExportIndex>,
    pub(crate) declare_channels: Option<ComponentExportIndex>,
    pub(crate) deliver: Option<ComponentExportIndex>,
    pub(crate) limits: ModuleLimits,
    pub(crate) grants: Arc<Grants>,
}

/// What a module declares, as it comes from the guest.
pub(crate) struct Declared {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) channels: Vec<Channel>,
}

impl Template {
    /// A store for one instance. Its epoch is due at once; whoever runs code in it sets what happens then.
    ///
    /// # Errors
    /// If what the module is granted cannot be had.
    pub(crate) fn store(&self) -> wasmtime::Result<Store<Guest>> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.limits.memory)
            .table_elements(self.limits.table_elements)
            .build();
        let guest = Guest::new(&self.name, limits, &self.grants)?;
        let mut store = Store::new(self.pre.engine(), guest);
        store.limiter(|guest| &mut guest.limits);
        Ok(store)
    }

    async fn declared(&self) -> wasmtime::Result<Declared> {
        let mut store = self.store()?;
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.pre.instantiate_async(&mut store).await?;
        Ok(Declared {
            controllers: declare(&mut store, &instance, self.declare_routes)
                .await
                .map_err(|error| error.context("its `declare-routes` failed"))?,
            channels: declare(&mut store, &instance, self.declare_channels)
                .await
                .map_err(|error| error.context("its `declare-channels` failed"))?,
        })
    }
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

/// Makes an instance, under the limit for that, and reads its declarations.
pub(crate) async fn probe(template: &Arc<Template>, threads: &Threads) -> Result<Declared, Error> {
    let probed = template.clone();
    let limit = template.limits.probe;
    let probing = threads.spawn_guest(async move { tokio::time::timeout(limit, probed.declared()).await });
    let failed = |what: &str| Error::new(ErrorKind::Probe, what.to_owned());
    match probing.await {
        Ok(Ok(Ok(declared))) => Ok(declared),
        Ok(Ok(Err(trap))) => Err(failed("reading its declarations failed").with_source(trap.into_boxed_dyn_error())),
        Ok(Err(_)) => Err(failed(&format!("reading its declarations took longer than {limit:?}"))),
        Err(panic) => Err(failed("reading its declarations panicked").with_source(panic)),
    }
}

/// What is told of a guest that broke, for the log only: the trap, what the guest said, the backtrace.
pub(crate) fn trapped(template: &Template, error: &wasmtime::Error, said: Option<String>) -> Crash {
    let what = said.map_or("trapped".to_owned(), |said| format!("panicked: {said}"));
    // The debug form of the error has its causes and the backtrace with the guest's function names.
    let message = format!("the guest {what}: {error:?}");
    let kind = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => CrashKind::Deadline,
        // Other modules have the whole pool; this one did nothing wrong.
        None if error.is::<PoolConcurrencyLimitError>() => CrashKind::Limit,
        _ => CrashKind::Trap,
    };
    Crash::new(kind, message).in_module(&*template.name)
}

/// The answer when every instance is busy for too long.
pub(crate) fn overloaded(template: &Template) -> Crash {
    let limits = &template.limits;
    let message = format!(
        "no instance of {} became free within {:?}",
        limits.instances, limits.queue_wait
    );
    Crash::new(CrashKind::Limit, message).in_module(&*template.name)
}
