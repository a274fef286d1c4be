//! The account of an engine's pool: how many instances each version of a module may hold.

use std::array::from_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use pointwork_core::{Executor, within};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use wasmtime::PoolingAllocationConfig;
use wasmtime::component::Component;

use crate::{Error, ErrorKind};

/// The most core instances of a component. Engines of scripting languages have about ten.
const MAX_CORE_INSTANCES: u32 = 64;

/// The number of instances that each current version can always get, unless its own limit is lower.
const SHARE: usize = 8;

/// The places of one instance in the pool: the instance, its memories and its tables.
type Size = [usize; 3];

/// The most that an instance takes.
const LARGEST: Size = [1, 8, 16];

/// The places in the pool for each instance.
const AVERAGE: Size = [1, 2, 4];

fn times(size: Size, count: usize) -> Size {
    size.map(|each| each.saturating_mul(count))
}

fn plus(one: Size, other: Size) -> Size {
    from_fn(|kind| one[kind].saturating_add(other[kind]))
}

/// Counts the instances of an engine's pool.
///
/// Each current version has a share, which others cannot take. Beyond the shares a version takes what is free, and all
/// versions of a module together hold at most twice its limit `instances`. The pool has a reserve beside its nominal
/// room: the share of a version that is loaded to take the place of another.
pub(crate) struct PoolAccount {
    instances: usize,
    tenants: Mutex<Vec<Tenant>>,
    /// Told whenever an instance is gone, while somebody waits.
    freed: Notify,
    waiting: AtomicUsize,
}

/// A version of a module, as the account has it. It is known by the address of its [`Tenancy`].
#[derive(Clone)]
struct Tenant {
    address: usize,
    module: Arc<str>,
    size: Size,
    is_current: bool,
    /// The instances that it can always get while it is current.
    nominal_share: usize,
    /// The most instances of all versions of the module together.
    most: usize,
    held: usize,
    pools: Weak<dyn IdleInstances>,
    /// See [`Tenancy::attainable`].
    attainable: Arc<AtomicUsize>,
}

/// Instances that wait for a call.
pub(crate) trait IdleInstances: Send + Sync {
    /// Frees one that is idle.
    fn free_idle(&self) -> Freed;
}

/// Whether an idle instance was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    /// None was idle.
    Nothing,
    /// Its end is told.
    Soon,
    Now,
}

/// The place of a version in the account.
pub(crate) struct Tenancy {
    account: Arc<PoolAccount>,
    attainable: Arc<AtomicUsize>,
}

/// The right to one instance, until it is dropped.
pub(crate) struct InstanceSlot(Arc<Tenancy>);

impl Tenant {
    fn share(&self) -> usize {
        if self.is_current { self.nominal_share } else { 0 }
    }
}

impl PoolAccount {
    pub(super) fn new(instances: u32) -> Arc<Self> {
        Arc::new(Self {
            instances: instances as usize,
            tenants: Mutex::default(),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// The pool that it counts.
    pub(super) fn pool(&self) -> PoolingAllocationConfig {
        let reserve = times(LARGEST, self.largest_share());
        let [instances, memories, tables] =
            plus(self.room(), reserve).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let [_, most_memories, most_tables] = LARGEST.map(|count| count as u32);
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(instances)
            .total_stacks(instances)
            .total_memories(memories)
            .total_tables(tables)
            // A counter, which takes no address space.
            .total_core_instances(instances.saturating_mul(MAX_CORE_INSTANCES))
            .max_core_instances_per_component(MAX_CORE_INSTANCES)
            .max_memories_per_component(most_memories)
            .max_tables_per_component(most_tables);
        pool
    }

    /// The room of the pool without its reserve.
    fn room(&self) -> Size {
        times(AVERAGE, self.instances)
    }

    /// The largest share of a version, which is less than usual in a small pool.
    fn largest_share(&self) -> usize {
        (self.instances / SHARE).clamp(1, SHARE)
    }

    /// Adds a version with its share. Waits for idle instances of others to end.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if there is no room for its share after that time.
    pub(super) async fn join(
        self: &Arc<Self>,
        module: &Arc<str>,
        component: &Component,
        instances: usize,
        (wait, executor): (Duration, &dyn Executor),
    ) -> Result<Arc<Tenancy>, Error> {
        let [one, memories, tables] = LARGEST;
        // None imports core modules, and is not linked.
        let required = component.resources_required().map_or([memories, tables], |required| {
            [required.num_memories as usize, required.num_tables as usize]
        });
        let tenancy = Arc::new(Tenancy {
            account: self.clone(),
            attainable: Arc::default(),
        });
        let tenant = Tenant {
            address: tenancy.address(),
            module: module.clone(),
            size: [one, required[0], required[1]],
            is_current: true,
            nominal_share: instances.min(self.largest_share()),
            most: instances.saturating_mul(2),
            held: 0,
            pools: Weak::<NoInstances>::new(),
            attainable: tenancy.attainable.clone(),
        };
        let joining = async {
            loop {
                let freed = self.next_freed();
                if self.try_join(&tenant).is_ok() {
                    return;
                }
                if self.free_idle(|tenant| tenant.held > tenant.share()) != Freed::Now {
                    freed.wait().await;
                }
            }
        };
        within(executor, executor.now() + wait, joining).await;
        self.try_join(&tenant).map_err(|free| {
            let message = format!(
                "the pool has room for {} instances: {free} are left beside those of other modules, expected {}",
                self.instances, tenant.nominal_share
            );
            Error::new(ErrorKind::Refused, message)
                .with_hint("raise `max-instances` of the application, or lower `instances` of its modules")
        })?;
        Ok(tenancy)
    }

    /// Frees an idle instance of a version of which that holds.
    fn free_idle(&self, which: impl Fn(&Tenant) -> bool) -> Freed {
        let tenants = self.tenants.lock();
        let pools = tenants.iter().filter(|tenant| which(tenant));
        let pools: Vec<_> = pools.filter_map(|tenant| tenant.pools.upgrade()).collect();
        // An instance that ends takes the lock.
        drop(tenants);
        let freed = pools.iter().map(|pools| pools.free_idle());
        let mut freed = freed.filter(|freed| *freed != Freed::Nothing);
        freed.next().unwrap_or(Freed::Nothing)
    }

    /// Has an effect once.
    ///
    /// # Errors
    /// The number of instances that there is room for.
    fn try_join(&self, tenant: &Tenant) -> Result<(), usize> {
        let mut tenants = self.tenants.lock();
        if tenants.iter().any(|other| other.address == tenant.address) {
            return Ok(());
        }
        let replaces = tenants
            .iter()
            .any(|other| other.module == tenant.module && other.is_current);
        // The version that it replaces gives its share back.
        let reserve = if replaces { self.largest_share() } else { 0 };
        let room = plus(self.room(), times(LARGEST, reserve));
        let claimed = claimed(&tenants);
        let fits = |count: usize| is_within(plus(claimed, times(tenant.size, count)), room);
        let share = tenant.share();
        if !fits(share) {
            return Err((0..share).rev().find(|&count| fits(count)).unwrap_or_default());
        }
        tenants.push(tenant.clone());
        self.share_out(&tenants);
        Ok(())
    }

    /// Tells each version how many instances the pool can give it beside the shares of the other versions.
    fn share_out(&self, tenants: &[Tenant]) {
        let shares = |tenant: &Tenant| times(tenant.size, tenant.share());
        let all = tenants.iter().map(shares).fold(Size::default(), plus);
        for tenant in tenants {
            let own = shares(tenant);
            let room = self.room();
            let counts = (0..room.len()).map(|kind| {
                let left = room[kind].saturating_sub(all[kind] - own[kind]);
                left.checked_div(tenant.size[kind]).unwrap_or(usize::MAX)
            });
            let count = counts.min().unwrap_or_default();
            tenant.attainable.store(count.max(tenant.share()), Ordering::Relaxed);
        }
    }

    fn next_freed(&self) -> NextFreed<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        NextFreed {
            account: self,
            notified: Box::pin(self.freed.notified()),
        }
    }
}

impl Tenancy {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The same version without a share and without instances.
    pub(super) fn fresh(&self) -> Arc<Self> {
        let tenancy = Arc::new(Self {
            account: self.account.clone(),
            attainable: Arc::default(),
        });
        let mut tenants = self.account.tenants.lock();
        let own = tenants.iter().find(|tenant| tenant.address == self.address());
        let fresh = own.map(|own| Tenant {
            address: tenancy.address(),
            is_current: false,
            held: 0,
            pools: Weak::<NoInstances>::new(),
            attainable: tenancy.attainable.clone(),
            ..own.clone()
        });
        tenants.extend(fresh);
        self.account.share_out(&tenants);
        drop(tenants);
        tenancy
    }

    /// The pools that take instances.
    pub(crate) fn serves(&self, pools: Weak<dyn IdleInstances>) {
        self.change(|tenant| tenant.pools = pools);
    }

    /// Whether the version is current, and has its share.
    pub(crate) fn set_current(&self, is_current: bool) {
        self.change(|tenant| tenant.is_current = is_current);
        self.account.share_out(&self.account.tenants.lock());
        self.account.tell();
    }

    /// The right to another instance, if need be in the place of an idle one that another version, or another level of
    /// calls, can do without. `None` if there is none now.
    pub(crate) fn take(self: &Arc<Self>) -> Option<InstanceSlot> {
        loop {
            let full = match self.try_take() {
                Ok(slot) => return Some(slot),
                Err(full) => full,
            };
            let which = |tenant: &Tenant| match &full {
                Full::Pool => tenant.held > tenant.share(),
                Full::Module(module) => tenant.module == *module,
            };
            if self.account.free_idle(which) != Freed::Now {
                return None;
            }
        }
    }

    fn try_take(self: &Arc<Self>) -> Result<InstanceSlot, Full> {
        let mut tenants = self.account.tenants.lock();
        let own = tenants.iter().position(|tenant| tenant.address == self.address());
        let own = own.ok_or(Full::Pool)?;
        let tenant = &tenants[own];
        if tenant.held >= tenant.share() {
            if holds_most(&tenants, tenant) {
                return Err(Full::Module(tenant.module.clone()));
            }
            if !is_within(plus(claimed(&tenants), tenant.size), self.account.room()) {
                return Err(Full::Pool);
            }
        }
        tenants[own].held += 1;
        Ok(InstanceSlot(self.clone()))
    }

    /// The next end of an instance, from now on.
    pub(crate) fn next_freed(&self) -> NextFreed<'_> {
        self.account.next_freed()
    }

    /// Whether an instance that becomes idle is wanted by others, who cannot have a share of this version.
    pub(crate) fn is_wanted(&self) -> bool {
        if self.account.waiting.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let tenants = self.account.tenants.lock();
        let own = tenants.iter().find(|tenant| tenant.address == self.address());
        own.is_some_and(|tenant| tenant.held > tenant.share())
    }

    /// Tells those who wait that an instance is idle.
    pub(crate) fn tell(&self) {
        self.account.tell();
    }

    /// The number of instances that the pool can give the version while all other versions have their shares.
    pub(crate) fn attainable(&self) -> usize {
        self.attainable.load(Ordering::Relaxed)
    }

    /// Whether the versions of the module together hold the most instances that they may.
    pub(crate) fn holds_most(&self) -> bool {
        let tenants = self.account.tenants.lock();
        let own = tenants.iter().find(|tenant| tenant.address == self.address());
        own.is_some_and(|own| holds_most(&tenants, own))
    }

    /// The room of the pool, for a message.
    pub(crate) fn instances(&self) -> usize {
        self.account.instances
    }

    fn change(&self, change: impl FnOnce(&mut Tenant)) {
        let mut tenants = self.account.tenants.lock();
        let own = tenants.iter_mut().find(|tenant| tenant.address == self.address());
        own.map(change).unwrap_or_default();
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        let address = self.address();
        let mut tenants = self.account.tenants.lock();
        tenants.retain(|tenant| tenant.address != address);
        self.account.share_out(&tenants);
        drop(tenants);
        self.account.tell();
    }
}

impl Drop for InstanceSlot {
    fn drop(&mut self) {
        self.0.change(|tenant| tenant.held -= 1);
        self.0.account.tell();
    }
}

impl PoolAccount {
    fn tell(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

/// The part without room for another instance.
enum Full {
    Pool,
    /// That module holds the most that it may.
    Module(Arc<str>),
}

/// Whether the versions of a tenant's module together hold the most instances that they may.
fn holds_most(tenants: &[Tenant], tenant: &Tenant) -> bool {
    let of_module = tenants.iter().filter(|other| other.module == tenant.module);
    of_module.map(|other| other.held).sum::<usize>() >= tenant.most
}

fn claimed(tenants: &[Tenant]) -> Size {
    let sizes = tenants
        .iter()
        .map(|tenant| times(tenant.size, tenant.held.max(tenant.share())));
    sizes.fold(Size::default(), plus)
}

fn is_within(size: Size, room: Size) -> bool {
    size.iter().zip(room).all(|(&size, room)| size <= room)
}

/// The pools of a version that has none yet.
struct NoInstances;

impl IdleInstances for NoInstances {
    fn free_idle(&self) -> Freed {
        Freed::Nothing
    }
}

/// Waits until an instance is gone.
pub(crate) struct NextFreed<'a> {
    account: &'a PoolAccount,
    notified: Pin<Box<Notified<'a>>>,
}

impl NextFreed<'_> {
    pub(crate) async fn wait(mut self) {
        self.notified.as_mut().await;
    }
}

impl Drop for NextFreed<'_> {
    fn drop(&mut self) {
        self.account.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
