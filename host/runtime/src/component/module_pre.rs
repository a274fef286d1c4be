//! A module that can make instances of itself, and the first of them, which is asked what the module declares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pointwork_core::{Crash, CrashKind};
use tokio_util::sync::CancellationToken;
use wasmtime::component::{ComponentExportIndex, Instance, InstancePre, Lift};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap};

use crate::app::options::ModuleLimits;
use crate::guest::Guest;
use crate::guest::bindings::exports::pointwork::module::channels::Channel;
use crate::guest::bindings::exports::pointwork::module::routes::Controller;
use crate::guest::limiter::Exceeded;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::meter::{Metered, SLICE, run_to_end};
use crate::scheduling::metrics::Metrics;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, Grants};

/// A version of a module that can make instances of itself: what both forms share.
#[derive(Clone)]
pub(crate) struct ModulePre {
    pub(crate) name: Arc<str>,
    pub(crate) instance_pre: InstancePre<Guest>,
    pub(crate) declare_routes: Option<ComponentExportIndex>,
    pub(crate) handle: Option<ComponentExportIndex>,
    pub(crate) declare_channels: Option<ComponentExportIndex>,
    pub(crate) deliver: Option<ComponentExportIndex>,
    pub(crate) limits: ModuleLimits,
    pub(crate) grants: Arc<Grants>,
    /// Whether it may reach anything beyond the contract.
    pub(crate) asks_for_more: bool,
    /// Whether calls share an instance at a time.
    pub(crate) shares: bool,
    pub(crate) metrics: Arc<Metrics>,
    /// Ends what is in flight on this version.
    pub(crate) cut: CancellationToken,
    /// Set when the version is current no more: its instances are of no further use.
    pub(crate) retired: Arc<AtomicBool>,
}

/// What a module declares, as it comes from the guest.
pub(crate) struct Declared {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) channels: Vec<Channel>,
}

impl ModulePre {
    /// A store for one instance. Its epoch is due at once; whoever runs code in it sets what happens then.
    ///
    /// # Errors
    /// If what the module is granted cannot be had.
    pub(crate) fn store(&self) -> wasmtime::Result<Store<Guest>> {
        let guest = Guest::new(self)?;
        let mut store = Store::new(self.instance_pre.engine(), guest);
        store.limiter(|guest| &mut guest.limits);
        Ok(store)
    }

    /// The same module as if it had never run: nothing counted, nothing ended.
    pub(crate) fn anew(&self) -> Self {
        Self {
            metrics: Arc::new(self.metrics.anew()),
            cut: CancellationToken::new(),
            retired: Arc::default(),
            ..self.clone()
        }
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Counts a crash.
    pub(crate) fn crashed(&self, history: Option<&CallHistory>) {
        self.metrics.crashed();
        if let Some(history) = history {
            history.crashed();
        }
    }

    async fn declared(&self) -> wasmtime::Result<Declared> {
        let mut store = self.store()?;
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.instance_pre.instantiate_async(&mut store).await?;
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
pub(crate) async fn probe(pre: &Arc<ModulePre>, threads: &Threads) -> Result<Declared, Error> {
    let probed = pre.clone();
    let limit = pre.limits.probe;
    // A component that loops while it is asked must not hold up those that serve.
    let probing = Box::pin(async move { tokio::time::timeout(limit, probed.declared()).await });
    let failed = |what: &str| Error::new(ErrorKind::Probe, what.to_owned());
    match run_to_end(Metered::new(probing, SLICE, limit, Arc::default()), threads).await {
        Ok(Some(Ok(Ok(declared)))) => Ok(declared),
        Ok(Some(Ok(Err(trap)))) => {
            Err(failed("reading its declarations failed").with_source(trap.into_boxed_dyn_error()))
        }
        Ok(Some(Err(_)) | None) => Err(failed(&format!("reading its declarations took longer than {limit:?}"))),
        Err(panic) => Err(failed("reading its declarations panicked").with_source(panic)),
    }
}

/// What is told of a guest that broke, for the log only: the trap, what the guest said, the backtrace. The history is that
/// of the call that broke it, if it is known which one did.
pub(crate) fn trapped(
    pre: &ModulePre,
    history: Option<&CallHistory>,
    error: &wasmtime::Error,
    guest: Option<&mut Guest>,
) -> Crash {
    let (said, refused) = guest.map_or((None, None), |guest| (guest.take_panic(), guest.limits.refused()));
    let trap = error.downcast_ref::<Trap>();
    // A guest that goes past a limit of ours is ended by us, or ends itself for want of what it was refused.
    let exceeded = error.downcast_ref::<Exceeded>().copied().or(refused);
    let limit = match (exceeded, trap) {
        (Some(exceeded), _) => Some(exceeded.limit),
        (None, Some(Trap::StackOverflow)) => Some("stack"),
        _ => None,
    };
    let what = said.map_or("trapped".to_owned(), |said| format!("panicked: {said}"));
    let why = exceeded.map_or(String::new(), |exceeded| format!("{exceeded}: "));
    // The debug form of the error has its causes and the backtrace with the guest's function names.
    let message = format!("{why}the guest {what}: {error:?}");
    let kind = match trap {
        Some(Trap::Interrupt) => CrashKind::Deadline,
        // Other modules have the whole pool; this one did nothing wrong.
        None if error.is::<PoolConcurrencyLimitError>() => {
            pre.metrics.refused();
            let crash = Crash::new(CrashKind::Limit, message).in_module(&*pre.name);
            return crash.at_limit("max-instances");
        }
        _ => CrashKind::Trap,
    };
    pre.crashed(history);
    let crash = Crash::new(kind, message).in_module(&*pre.name);
    match limit {
        Some(limit) => crash.at_limit(limit),
        None => crash,
    }
}

/// Why a call got no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// None became free in time.
    Instances,
    /// As many calls wait already as may.
    Queue,
}

/// The answer when every instance is busy for too long, or too many calls wait for one.
pub(crate) fn overloaded(pre: &ModulePre, full: Full) -> Crash {
    pre.metrics.refused();
    let limits = &pre.limits;
    let (limit, message) = match full {
        Full::Instances => (
            "instances",
            format!(
                "no instance of {} became free within {:?}",
                limits.instances, limits.queue_wait
            ),
        ),
        Full::Queue => ("queue", format!("{} calls wait for an instance already", limits.queue)),
    };
    Crash::new(CrashKind::Limit, message)
        .in_module(&*pre.name)
        .at_limit(limit)
}

/// What a call comes to that used up its processor time.
pub(crate) fn spent(pre: &ModulePre, history: Option<&CallHistory>) -> Crash {
    pre.crashed(history);
    let message = format!("the guest used more processor time than {:?}", pre.limits.cpu);
    Crash::new(CrashKind::Deadline, message)
        .in_module(&*pre.name)
        .at_limit("cpu")
}

/// What a call comes to on a version that had its time to drain. The next one like it meets the new version.
pub(crate) fn drained(pre: &ModulePre) -> Crash {
    let message = "the version of the module was replaced, and had its time to drain";
    Crash::new(CrashKind::Limit, message)
        .in_module(&*pre.name)
        .at_limit("drain")
}
