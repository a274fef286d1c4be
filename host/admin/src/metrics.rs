//! Metrics in the text format of OpenMetrics, taken at each request.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pointwork::{DURATION_BUCKETS, ModuleState, ModuleStatus, RouteDurations};
use pointwork_core::FailureCount;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::changes::ChangeCounts;
use crate::events::{self, Channel};
use crate::problem::Problem;
use crate::state::Shared;

/// The content type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn show(State(admin): State<Shared>) -> Response {
    let dropped = admin.options.dropped_log_lines.as_ref();
    let snapshot = Snapshot {
        modules: admin.app.statuses(),
        requests: admin.app.requests_in_flight(),
        durations: admin.app.request_durations(),
        events_waiting: admin.app.bus().waiting(),
        events_refused: admin.app.bus().refused(),
        failures: admin.app.bus().failures(),
        changes: admin.changes.counts(),
        channels: events::channels(&admin).await,
        log_lines_dropped: dropped.map(|count| count.load(Ordering::Relaxed)),
    };
    match snapshot.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written").into_response(),
    }
}

/// The state of the application at one moment.
#[derive(Clone, Debug)]
struct Snapshot {
    modules: Vec<ModuleStatus>,
    requests: usize,
    durations: Vec<RouteDurations>,
    events_waiting: usize,
    events_refused: u64,
    /// Those that are not zero.
    failures: Vec<FailureCount>,
    changes: ChangeCounts,
    /// The durable channels.
    channels: Vec<Channel>,
    /// `None` if the program does not count them.
    log_lines_dropped: Option<u64>,
}

/// The metrics of every module: type, name and help text. [`values`] has their values.
const MODULE_METRICS: [(MetricType, &str, &str); 12] = {
    use MetricType::{Counter, Gauge};
    [
        (Counter, "module_calls", "Calls that began: requests and events"),
        (Counter, "module_crashes", "Calls that crashed"),
        (
            Counter,
            "module_exceptions",
            "Calls that an exception of the module's code ended",
        ),
        (
            Counter,
            "module_refused",
            "Calls that were refused: no instance was free, or the module is held back",
        ),
        (Gauge, "module_in_flight", "Calls in flight, waiting ones included"),
        (Gauge, "module_waiting", "Calls that wait for an instance"),
        (Gauge, "module_instances", "Instances, idle or not"),
        (Gauge, "module_idle_instances", "Instances that wait for a call"),
        (
            Gauge,
            "module_held",
            "Resources that idle instances still hold of finished requests",
        ),
        (
            Gauge,
            "module_host_memory_bytes",
            "Bytes that the host keeps for the module outside of its instances",
        ),
        (Gauge, "module_draining", "Versions before that have calls in flight"),
        (
            Gauge,
            "module_handlers_held_back",
            "Handlers and listeners whose circuit breakers are not closed",
        ),
    ]
};

/// The values of [`MODULE_METRICS`], in the same order.
fn values(module: &ModuleStatus) -> [u64; 12] {
    let usage = &module.usage;
    [
        usage.calls,
        usage.crashes,
        usage.exceptions,
        usage.refused,
        usage.in_flight as u64,
        usage.waiting as u64,
        usage.instances as u64,
        usage.idle as u64,
        usage.held as u64,
        usage.host_memory,
        module.draining.len() as u64,
        module.held_back.len() as u64,
    ]
}

const STATES: [(ModuleState, &str); 4] = [
    (ModuleState::Serving, "serving"),
    (ModuleState::OnTrial, "on-trial"),
    (ModuleState::HeldBack, "held-back"),
    (ModuleState::HalfOpen, "half-open"),
];

impl Snapshot {
    fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("pointwork");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let families = self.modules().into_iter().chain([self.changes(), self.failures()]);
        for (kind, name, help, rows) in families.chain(self.durable()) {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, value) in rows {
                encode(kind, value, family.encode_family(&labels)?)?;
            }
        }
        for (kind, name, help, value) in [
            (
                MetricType::Gauge,
                "requests_in_flight",
                "Requests in flight",
                self.requests as u64,
            ),
            (
                MetricType::Gauge,
                "events_waiting",
                "Emitted events that wait",
                self.events_waiting as u64,
            ),
            (
                MetricType::Counter,
                "events_refused",
                "Emitted events that were lost",
                self.events_refused,
            ),
            (
                MetricType::Counter,
                "changes_refused",
                "Changes of modules that were refused",
                self.changes.refused,
            ),
        ]
        .into_iter()
        .chain(self.log_lines_dropped.map(dropped))
        {
            encode(kind, value, encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        self.encode_durations(&mut encoder)
    }
}

/// A metric with labels: type, name, help text, and the value for each set of labels.
type Family = (MetricType, &'static str, &'static str, Vec<(Vec<Label>, u64)>);

type Label = (&'static str, String);

fn dropped(lines: u64) -> (MetricType, &'static str, &'static str, u64) {
    let help = "Lines of the log that were dropped: the stream did not take them";
    (MetricType::Counter, "log_lines_dropped", help, lines)
}

impl Snapshot {
    fn modules(&self) -> Vec<Family> {
        let label = |module: &ModuleStatus| ("module", module.info.name.clone());
        let metrics = MODULE_METRICS
            .into_iter()
            .enumerate()
            .map(|(index, (kind, name, help))| {
                let rows = self
                    .modules
                    .iter()
                    .map(|module| (vec![label(module)], values(module)[index]));
                (kind, name, help, rows.collect())
            });
        let mut families: Vec<Family> = metrics.collect();
        let mut gauge = |name, help, rows| families.push((MetricType::Gauge, name, help, rows));
        let states = self.modules.iter().flat_map(|module| {
            STATES.map(|(state, name)| {
                let labels = vec![label(module), ("state", name.to_owned())];
                (labels, u64::from(module.state == state))
            })
        });
        gauge("module_state", "1 for the state of the module", states.collect());
        let versions = self.modules.iter();
        let versions = versions.map(|module| (vec![label(module), ("digest", module.info.digest.clone())], 1));
        gauge("module_version", "1 for the current version", versions.collect());
        families
    }

    /// By route and class of status. A label of the route cannot be mistaken for a pattern, which begins with a slash.
    fn encode_durations(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time from the head of a request to the head of its reply";
        let kind = MetricType::Histogram;
        let mut family = encoder.encode_descriptor("request_duration", help, Some(&Unit::Seconds), kind)?;
        for durations in &self.durations {
            let labels = [
                ("method", durations.method.clone()),
                (
                    "route",
                    durations.route.clone().unwrap_or_else(|| "unmatched".to_owned()),
                ),
                ("status", format!("{}xx", durations.status_class)),
            ];
            let bounds = DURATION_BUCKETS
                .iter()
                .map(Duration::as_secs_f64)
                .chain([f64::INFINITY]);
            let buckets: Vec<_> = bounds.zip(durations.counts).collect();
            let (sum, count) = (durations.sum.as_secs_f64(), durations.counts.iter().sum());
            let mut metric = family.encode_family(&labels)?;
            metric.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    /// The metrics of durable channels; empty if no channel is durable.
    fn durable(&self) -> Vec<Family> {
        use MetricType::{Counter, Gauge};
        type Value = fn(&Channel) -> Option<u64>;
        let metrics: [(MetricType, &'static str, &'static str, Value); 9] = [
            (
                Counter,
                "durable_recorded",
                "Events that the store confirmed",
                |channel| Some(channel.counted.recorded),
            ),
            (Counter, "durable_refused", "Events that were not recorded", |channel| {
                Some(channel.counted.refused)
            }),
            (
                Counter,
                "durable_delivered",
                "Events whose listener returned a value",
                |channel| Some(channel.counted.delivered),
            ),
            (
                Counter,
                "durable_retried",
                "Attempts that failed and were followed by another",
                |channel| Some(channel.counted.retried),
            ),
            (Counter, "durable_dead", "Events that became dead letters", |channel| {
                Some(channel.counted.dead)
            }),
            (
                Counter,
                "durable_dropped",
                "Dead letters that went for newer ones",
                |channel| Some(channel.stored?.dropped),
            ),
            (Gauge, "durable_waiting", "Events that are not settled yet", |channel| {
                Some(channel.stored?.waiting)
            }),
            (Gauge, "durable_dead_letters", "Dead letters that are kept", |channel| {
                Some(channel.stored?.dead)
            }),
            (
                Gauge,
                "durable_lag_seconds",
                "Age of the oldest event that is not settled yet",
                |channel| Some(channel.stored?.lag.as_secs()),
            ),
        ];
        if self.channels.is_empty() {
            return Vec::new();
        }
        let rows = |value: Value| {
            let rows = self.channels.iter();
            let rows = rows.filter_map(|channel| Some((vec![("channel", channel.name.clone())], value(channel)?)));
            rows.collect()
        };
        metrics
            .map(|(kind, name, help, value)| (kind, name, help, rows(value)))
            .into()
    }

    fn failures(&self) -> Family {
        let rows = self.failures.iter().map(|failure| {
            let labels = [("code", failure.code), ("fault", failure.fault.as_str())];
            let labels = labels.map(|(name, value)| (name, value.to_owned()));
            (labels.into(), failure.count)
        });
        (
            MetricType::Counter,
            "failures",
            "Failures that ended a request or an emitted event",
            rows.collect(),
        )
    }

    fn changes(&self) -> Family {
        let published = self.changes.published.iter();
        let rows = published.map(|(kind, count)| (vec![("kind", kind.clone())], *count));
        (
            MetricType::Counter,
            "changes",
            "Changes of modules that were published",
            rows.collect(),
        )
    }
}

fn encode(kind: MetricType, value: u64, encoder: MetricEncoder<'_>) -> fmt::Result {
    match kind {
        MetricType::Counter => ConstCounter::new(value).encode(encoder),
        _ => ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(encoder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_the_application_need_no_module() {
        let snapshot = Snapshot {
            modules: Vec::new(),
            requests: 3,
            durations: Vec::new(),
            events_waiting: 0,
            events_refused: 7,
            failures: Vec::new(),
            changes: ChangeCounts {
                published: [("swapped".to_owned(), 2)].into(),
                refused: 1,
            },
            channels: Vec::new(),
            log_lines_dropped: Some(5),
        };
        let text = snapshot.text().expect("it is written");
        for line in [
            "pointwork_requests_in_flight 3",
            "pointwork_events_waiting 0",
            "pointwork_events_refused_total 7",
            "pointwork_changes_total{kind=\"swapped\"} 2",
            "pointwork_changes_refused_total 1",
            "pointwork_log_lines_dropped_total 5",
            "# TYPE pointwork_module_calls counter",
            "# TYPE pointwork_failures counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
