//! Figures for Prometheus, taken when they are asked for.

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use pointwork::{ModuleState, ModuleStatus, Usage};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::admin::Inner;
use crate::changes::Counts;
use crate::problem::Problem;

/// What OpenMetrics is called on the wire.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn show(State(admin): State<Arc<Inner>>) -> Response {
    let snapshot = Snapshot {
        modules: admin.app.statuses(),
        requests: admin.app.requests_in_flight(),
        events_waiting: admin.app.bus().waiting(),
        events_refused: admin.app.bus().refused(),
        changes: admin.changes.counts(),
    };
    match snapshot.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the figures cannot be written").into_response(),
    }
}

/// All figures of one moment.
#[derive(Clone, Debug)]
struct Snapshot {
    modules: Vec<ModuleStatus>,
    requests: usize,
    events_waiting: usize,
    events_refused: u64,
    changes: Counts,
}

/// A figure that every module has: its name, what it is, and how to read it from what the calls use.
type Figure<T> = (&'static str, &'static str, fn(&Usage) -> T);

const COUNTERS: &[Figure<u64>] = &[
    ("module_calls", "Calls that began: requests and events", |usage| {
        usage.calls
    }),
    ("module_crashes", "Calls that crashed", |usage| usage.crashes),
    (
        "module_refused",
        "Calls that were refused for want of an instance, or because the module is held back",
        |usage| usage.refused,
    ),
];

const GAUGES: &[Figure<usize>] = &[
    ("module_in_flight", "Calls in flight, waiting ones included", |usage| {
        usage.in_flight
    }),
    ("module_waiting", "Calls that wait for an instance", |usage| {
        usage.waiting
    }),
    ("module_instances", "Instances, idle or not", |usage| usage.instances),
    ("module_idle_instances", "Instances that wait for a call", |usage| {
        usage.idle
    }),
    (
        "module_held",
        "What idle instances still hold of requests that are over",
        |usage| usage.held,
    ),
];

const STATES: [(ModuleState, &str); 3] = [
    (ModuleState::Serving, "serving"),
    (ModuleState::OnTrial, "on-trial"),
    (ModuleState::HeldBack, "held-back"),
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
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut figures = Figures(encoder);
        let name_of = |module: &ModuleStatus| [("module", module.info.name.clone())];
        for (name, help, read) in COUNTERS {
            let rows = self.modules.iter().map(|module| (name_of(module), read(&module.usage)));
            figures.counters(name, help, rows)?;
        }
        for (name, help, read) in GAUGES {
            let rows = self.modules.iter().map(|module| (name_of(module), read(&module.usage)));
            figures.gauges(name, help, rows)?;
        }
        let draining = self
            .modules
            .iter()
            .map(|module| (name_of(module), module.draining.len()));
        figures.gauges("module_draining", "Versions before that have calls in flight", draining)?;
        let states = self.modules.iter().flat_map(|module| {
            STATES.map(|(state, label)| {
                let labels = [("module", module.info.name.clone()), ("state", label.to_owned())];
                (labels, usize::from(module.state == state))
            })
        });
        figures.gauges("module_state", "1 for the state that the module is in", states)?;
        let digests = self.modules.iter().map(|module| {
            let labels = [
                ("module", module.info.name.clone()),
                ("digest", module.info.digest.clone()),
            ];
            (labels, 1)
        });
        figures.gauges("module_version", "1 for the version that is current", digests)?;

        figures.gauge("requests_in_flight", "Requests in flight", self.requests)?;
        figures.gauge("events_waiting", "Emitted events that wait", self.events_waiting)?;
        figures.counter("events_refused", "Emitted events that were lost", self.events_refused)?;
        let published = self.changes.published.iter();
        figures.counters(
            "changes",
            "Changes of modules that were published",
            published.map(|(kind, count)| ([("kind", kind.clone())], *count)),
        )?;
        let refused = self.changes.refused;
        figures.counter("changes_refused", "Changes of modules that were refused", refused)
    }
}

/// Writes families: all values of one name stand together.
struct Figures<'a>(DescriptorEncoder<'a>);

impl Figures<'_> {
    fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, rows, ConstCounter::new)
    }

    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (L, usize)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, rows, gauge)
    }

    /// One value without labels.
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// One value without labels.
    fn gauge(&mut self, name: &str, help: &str, value: usize) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        gauge(value).encode(encoder)
    }

    fn family<L: EncodeLabelSet, V, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl IntoIterator<Item = (L, V)>,
        metric: impl Fn(V) -> M,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            metric(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn gauge(value: usize) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_application_are_there_without_a_module() {
        let snapshot = Snapshot {
            modules: Vec::new(),
            requests: 3,
            events_waiting: 0,
            events_refused: 7,
            changes: Counts {
                published: [("swapped".to_owned(), 2)].into(),
                refused: 1,
            },
        };
        let text = snapshot.text().expect("it is written");
        for line in [
            "pointwork_requests_in_flight 3",
            "pointwork_events_waiting 0",
            "pointwork_events_refused_total 7",
            "pointwork_changes_total{kind=\"swapped\"} 2",
            "pointwork_changes_refused_total 1",
            "# TYPE pointwork_module_calls counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
