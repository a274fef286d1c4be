//! One line in the log for a burst of refusals or failures.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::failure_code::log_by_fault;
use crate::routing::paragraph;
use crate::{Crash, CrashKind, Executor, Fault};

/// The most bytes of a crash's message: it may hold texts of a guest, such as the names of its functions.
pub(crate) const MAX_CRASH_LINE: usize = 32 * 1024;

/// The time over which refusals are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts the refusals of each limit, and the failures of each route. The first one of a burst is logged as it comes; as long as
/// more follow, each second has one line with their number. So clients that are refused cannot fill the log.
#[derive(Clone, Default)]
pub(crate) struct Bursts(Arc<Mutex<HashMap<BurstKey, u64>>>);

/// The refusals or failures that share a burst. The configuration bounds the number of keys.
#[derive(Clone, PartialEq, Eq, Hash)]
enum BurstKey {
    /// A limit or the code of a failure, and the module or event that hit it.
    Refused { limit: String, of: String, fault: Fault },
    /// The label of a code, the party at fault, and the route.
    Failed {
        code: &'static str,
        fault: Fault,
        route: String,
    },
}

impl Bursts {
    /// Logs a crash. Of a burst of refusals the first one is logged, and then their number.
    pub(crate) fn log(&self, crash: &Crash, executor: &Arc<dyn Executor>) {
        let (limit, module) = (crash.limit.as_deref(), crash.module.as_deref());
        // A crash of a module has the level of an error, as a fault of the host has.
        let fault = match crash.fault() {
            Fault::Client => Fault::Client,
            _ => Fault::Host,
        };
        if crash.kind == CrashKind::Limit {
            let limit = limit.unwrap_or_default().to_owned();
            let of = module.unwrap_or_default().to_owned();
            if !self.begins_of(BurstKey::Refused { limit, of, fault }, executor) {
                return;
            }
        }
        log_by_fault!(
            fault,
            kind = ?crash.kind,
            adapter = crash.adapter,
            module,
            route = crash.route,
            request_id = crash.request_id,
            limit,
            "{}",
            paragraph(&crash.message, MAX_CRASH_LINE)
        );
    }

    /// Whether a refusal by that limit is the first one of its burst. Otherwise it is counted.
    pub(crate) fn begins(&self, limit: &str, of: &str, executor: &Arc<dyn Executor>) -> bool {
        let (limit, of) = (limit.to_owned(), of.to_owned());
        let fault = Fault::Host;
        self.begins_of(BurstKey::Refused { limit, of, fault }, executor)
    }

    /// Whether a failure of a route, by the label of its code, is the first one of its burst. Otherwise it is counted.
    pub(crate) fn begins_failing(
        &self,
        code: &'static str,
        fault: Fault,
        route: &str,
        executor: &Arc<dyn Executor>,
    ) -> bool {
        let route = route.to_owned();
        self.begins_of(BurstKey::Failed { code, fault, route }, executor)
    }

    fn begins_of(&self, key: BurstKey, executor: &Arc<dyn Executor>) -> bool {
        match self.0.lock().entry(key.clone()) {
            Entry::Occupied(mut count) => {
                *count.get_mut() += 1;
                return false;
            }
            Entry::Vacant(entry) => entry.insert(0),
        };
        let (bursts, timer) = (self.clone(), executor.clone());
        executor.spawn(Box::pin(async move { bursts.follow(&key, &*timer).await }));
        true
    }

    /// Logs the number of refusals or failures of each second, until there was none.
    async fn follow(&self, key: &BurstKey, executor: &dyn Executor) {
        while let Some(count) = self.next(key, executor).await {
            match key {
                BurstKey::Refused { limit, of, fault } => {
                    log_by_fault!(*fault, limit, of, count, "{count} more were refused within a second");
                }
                BurstKey::Failed { code, fault, route } => log_by_fault!(
                    *fault,
                    code,
                    fault = fault.as_str(),
                    route,
                    count,
                    "{count} more requests failed this way within a second"
                ),
            }
        }
    }

    /// The number of the next second; `None` ends the burst.
    async fn next(&self, key: &BurstKey, executor: &dyn Executor) -> Option<u64> {
        executor.sleep_until(executor.now() + WINDOW).await;
        let mut bursts = self.0.lock();
        let count = bursts.get_mut(key).map(std::mem::take).filter(|count| *count > 0);
        if count.is_none() {
            bursts.remove(key);
        }
        count
    }
}
