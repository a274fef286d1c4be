//! The durations of requests: a histogram for each route and class of status.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;

use crate::routing::RouteRecord;
use crate::{Shard, Sharded};

/// The upper bounds of the buckets of [`RouteDurations`], each included: 100 µs to 10 s.
pub const DURATION_BUCKETS: [Duration; 16] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// One more than [`DURATION_BUCKETS`]: the last has no upper bound.
const BUCKETS: usize = DURATION_BUCKETS.len() + 1;

/// The classes of status that a reply can have: 2xx to 5xx.
const CLASSES: [u8; 4] = [2, 3, 4, 5];

/// The durations of an application's requests, over all of its tables. Clones are handles of the same durations.
///
/// A duration is the time from the arrival of the head of a request to the head of its reply; that of a route that takes
/// the body whole includes the body's arrival. A request whose client leaves before the reply is not counted.
///
/// A route is known by its method and its pattern. It keeps its counts when the table changes, and also when it is gone, so
/// that they never decrease.
#[derive(Clone, Debug, Default)]
pub struct RequestDurations(Arc<KnownRoutes>);

#[derive(Debug, Default)]
struct KnownRoutes {
    /// By pattern and method.
    routes: Mutex<BTreeMap<(String, String), Arc<ShardedHistogram>>>,
    unmatched: Arc<ShardedHistogram>,
}

/// The durations of the requests of one route whose replies have a status of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouteDurations {
    /// The method of the route, or `ALL`.
    pub method: String,
    /// The pattern of the route, prefix included; `None` for the requests that no route answered: 400, 404, 405, and the
    /// automatic OPTIONS.
    pub route: Option<String>,
    /// The first digit of the status: 2 to 5.
    pub status_class: u8,
    /// The number of requests up to each bound of [`DURATION_BUCKETS`] and above the one before it, then the number of those
    /// above the last.
    pub counts: [u64; BUCKETS],
    /// The sum of the durations.
    pub sum: Duration,
}

impl RequestDurations {
    /// The durations so far, by pattern and method; only those with a request.
    pub fn snapshot(&self) -> Vec<RouteDurations> {
        let routes = self.0.routes.lock();
        let mut all: Vec<_> = routes
            .iter()
            .flat_map(|((path, method), histogram)| histogram.snapshot(method, Some(path)))
            .collect();
        all.extend(self.0.unmatched.snapshot("ALL", None));
        all
    }

    /// The histograms of a table, in the order of its routes.
    pub(super) fn of_table<'r>(&self, records: impl Iterator<Item = &'r Arc<RouteRecord>>) -> Arc<TableDurations> {
        let mut known = self.0.routes.lock();
        // Routes of a table that was refused, or that never had a request.
        known.retain(|_, histogram| Arc::strong_count(histogram) > 1 || histogram.is_used());
        let routes = records.map(|record| {
            let route = (record.path.clone(), record.method.clone());
            known.entry(route).or_default().clone()
        });
        Arc::new(TableDurations {
            routes: routes.collect(),
            unmatched: self.0.unmatched.clone(),
        })
    }
}

/// The histograms of one table.
pub(super) struct TableDurations {
    /// In the order of the table's routes.
    routes: Vec<Arc<ShardedHistogram>>,
    unmatched: Arc<ShardedHistogram>,
}

impl TableDurations {
    /// The histogram of a route by its place in the table, or that of the requests without a route.
    pub(super) fn histogram(&self, route: Option<usize>) -> &Shard<Histogram> {
        route.map_or(&self.unmatched, |route| &self.routes[route]).0.local()
    }
}

/// The durations of one route.
#[derive(Debug, Default)]
struct ShardedHistogram(Sharded<Histogram>);

/// Durations of one route. To count one costs two relaxed additions.
#[derive(Debug, Default)]
pub(crate) struct Histogram([ClassHistogram; CLASSES.len()]);

#[derive(Debug, Default)]
struct ClassHistogram {
    counts: [AtomicU64; BUCKETS],
    /// In nanoseconds.
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) fn count(&self, status: StatusCode, time: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        let histogram = &self.0[class.min(CLASSES.len() - 1)];
        let bucket = DURATION_BUCKETS.partition_point(|bound| *bound < time);
        histogram.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        histogram.sum.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl ShardedHistogram {
    fn is_used(&self) -> bool {
        let classes = self.0.all().flat_map(|histogram| &histogram.0);
        let mut counts = classes.flat_map(|class| &class.counts);
        counts.any(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn snapshot(&self, method: &str, route: Option<&str>) -> impl Iterator<Item = RouteDurations> {
        CLASSES
            .into_iter()
            .enumerate()
            .filter_map(move |(place, status_class)| {
                let sum = |of: &dyn Fn(&ClassHistogram) -> &AtomicU64| -> u64 {
                    let classes = self.0.all().map(|histogram| &histogram.0[place]);
                    classes.map(|class| of(class).load(Ordering::Relaxed)).sum()
                };
                let counts = std::array::from_fn(|bucket| sum(&|class| &class.counts[bucket]));
                counts.iter().any(|count| *count > 0).then(|| RouteDurations {
                    method: method.to_owned(),
                    route: route.map(str::to_owned),
                    status_class,
                    counts,
                    sum: Duration::from_nanos(sum(&|class| &class.sum)),
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(status: u16, time: Duration) -> RouteDurations {
        let histogram = ShardedHistogram::default();
        histogram.0.local().count(status.try_into().unwrap(), time);
        histogram.snapshot("GET", Some("/a")).next().unwrap()
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        assert!(DURATION_BUCKETS.is_sorted());
        for (bucket, bound) in DURATION_BUCKETS.into_iter().enumerate() {
            assert_eq!(counted(200, bound).counts[bucket], 1);
            assert_eq!(counted(200, bound + Duration::from_nanos(1)).counts[bucket + 1], 1);
        }
        assert_eq!(counted(200, Duration::ZERO).counts[0], 1);
        assert_eq!(counted(200, Duration::from_secs(3600)).sum, Duration::from_secs(3600));
    }

    #[test]
    fn each_class_of_status_is_counted_apart() {
        for status in [200, 204, 302, 404, 503, 599] {
            assert_eq!(u16::from(counted(status, Duration::ZERO).status_class), status / 100);
        }
    }
}
