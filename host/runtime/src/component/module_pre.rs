//! A version of a module, ready to be instantiated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;
use wasmtime::component::{ComponentExportIndex, Instance, InstancePre};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use crate::Grants;
use crate::component::inspect::Form;
use crate::component::pool_account::Tenancy;
use crate::guest::memory::MAX_HANDLES;
use crate::guest::{Guest, VersionState};
use crate::scheduling::held_places::HandlerShare;
use crate::scheduling::meter::{is_limit_used, slice_used};
use crate::variables::Values;

/// A guest is at the end of its time slice.
///
/// # Errors
/// If the guest has to end there.
pub(crate) fn end_slice(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    slice_used();
    store.data_mut().use_slice(is_limit_used())?;
    Ok(UpdateDeadline::Yield(1))
}

/// A version of a module, ready to be instantiated: wasmtime's [`InstancePre`] with what our instances need beside it.
#[derive(Clone)]
pub(crate) struct ModulePre {
    pub(crate) form: Form,
    pub(crate) instance_pre: InstancePre<Guest>,
    pub(crate) describe: ComponentExportIndex,
    pub(crate) handle: ComponentExportIndex,
    pub(crate) deliver: ComponentExportIndex,
    pub(crate) version: VersionState,
    /// Its place in the account of the engine's pool.
    pub(crate) tenancy: Arc<Tenancy>,
    /// Ends the calls in flight on this version.
    pub(crate) cut: CancellationToken,
    /// Set when the version is not current any more: its idle instances are freed.
    pub(crate) retired: Arc<AtomicBool>,
}

impl ModulePre {
    /// The share of a handler with slow calls in the instances that the module can have.
    pub(crate) fn handler_share(&self) -> HandlerShare {
        let limits = &self.version.limits;
        HandlerShare {
            of: limits.instances.min(self.tenancy.attainable()),
            in_flight: limits.in_flight,
        }
    }

    /// A store for one instance. A guest yields at the end of its time slice.
    ///
    /// # Errors
    /// If something that the module is granted is missing.
    pub(crate) fn store(&self) -> wasmtime::Result<Store<Guest>> {
        self.store_with(&self.version.grants)
    }

    /// The same with other grants.
    ///
    /// # Errors
    /// As [`store`](Self::store).
    pub(super) fn store_with(&self, grants: &Arc<Grants>) -> wasmtime::Result<Store<Guest>> {
        let guest = Guest::new(&self.version, grants)?;
        let mut store = Store::new(self.instance_pre.engine(), guest);
        store.limiter(|guest| &mut guest.limits);
        // What a guest can pass to the host at once: its whole memory, or all that the host may keep for it. It gets past that
        // only by passing the same bytes several times.
        let limits = &self.version.limits;
        let host_memory = usize::try_from(limits.host_memory).unwrap_or(usize::MAX);
        store.set_hostcall_fuel(limits.memory.max(host_memory));
        store.set_max_component_handles(MAX_HANDLES);
        store.epoch_deadline_callback(end_slice);
        store.set_epoch_deadline(1);
        Ok(store)
    }

    /// An instance in a store.
    pub(crate) async fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<Instance> {
        let instance = self.instance_pre.instantiate_async(&mut *store).await?;
        let guest = store.data_mut();
        guest.limits.made();
        // What it printed is no part of the first line of a call.
        guest.end_lines();
        self.version.admission.instantiated();
        Ok(instance)
    }

    /// The same version with these variables and fresh admission, neither cut nor retired, and not current.
    pub(crate) fn fresh(&self, variables: Values) -> Self {
        let mut version = self.version.clone();
        version.variables = variables;
        version.admission = Arc::new(version.admission.fresh());
        version.streams = Arc::new(version.streams.fresh());
        Self {
            version,
            tenancy: self.tenancy.fresh(),
            cut: CancellationToken::new(),
            retired: Arc::default(),
            ..self.clone()
        }
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }
}
