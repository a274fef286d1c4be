//! One line in the log for a burst of refusals.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::routing::paragraph;
use crate::{Crash, CrashKind, Executor};

/// The most bytes of a crash's message: it may hold texts of a guest, such as the names of its functions.
pub(crate) const MAX_CRASH_LINE: usize = 32 * 1024;

/// The time over which refusals are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts the refusals of each limit. The first one of a burst is logged as it comes; as long as more follow, each second has
/// one line with their number. So clients that are refused cannot fill the log.
#[derive(Clone, Default)]
pub(crate) struct Bursts(Arc<Mutex<HashMap<RefusedBy, u64>>>);

/// A limit or the code of a failure, and the module or event that hit it: the configuration bounds their number.
type RefusedBy = (String, String);

impl Bursts {
    /// Logs a crash. Of a burst of refusals the first one is logged, and then their number.
    pub(crate) fn log(&self, crash: &Crash, executor: &Arc<dyn Executor>) {
        let (limit, module) = (crash.limit.as_deref(), crash.module.as_deref());
        let is_refusal = crash.kind == CrashKind::Limit;
        if is_refusal && !self.begins(limit.unwrap_or_default(), module.unwrap_or_default(), executor) {
            return;
        }
        tracing::error!(
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
        let refusal = (limit.to_owned(), of.to_owned());
        match self.0.lock().entry(refusal.clone()) {
            Entry::Occupied(mut count) => {
                *count.get_mut() += 1;
                return false;
            }
            Entry::Vacant(entry) => entry.insert(0),
        };
        let (bursts, timer) = (self.clone(), executor.clone());
        executor.spawn(Box::pin(async move { bursts.follow(&refusal, &*timer).await }));
        true
    }

    /// Logs the number of refusals of each second, until there was none.
    async fn follow(&self, refusal: &RefusedBy, executor: &dyn Executor) {
        while let Some(count) = self.next(refusal, executor).await {
            let (limit, of) = refusal;
            tracing::error!(limit, of, count, "{count} more were refused within a second");
        }
    }

    /// The number of refusals of the next second; `None` ends the burst.
    async fn next(&self, refusal: &RefusedBy, executor: &dyn Executor) -> Option<u64> {
        executor.sleep_until(executor.now() + WINDOW).await;
        let mut bursts = self.0.lock();
        let count = bursts.get_mut(refusal).map(std::mem::take).filter(|count| *count > 0);
        if count.is_none() {
            bursts.remove(refusal);
        }
        count
    }
}
