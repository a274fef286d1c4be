//! The log lines of a case.

use std::fmt::{self, Write as _};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread::{self, ThreadId};

use anyhow::{Context as _, Result};
use pointwork_test_clock::real::until;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// One log line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The level.
    pub level: Level,
    /// The message, followed by each field as ` name=value`; a value with spaces or control characters is quoted.
    pub text: String,
    /// The id of the request in whose span the line stands.
    pub request: Option<String>,
    thread: ThreadId,
    /// Whether another process wrote it.
    is_told: bool,
}

/// The log from the start of one case on.
///
/// Cases run concurrently in one process, so a case that reads [`everywhere`](Self::everywhere) has to look for a name
/// that no other case uses.
#[derive(Clone, Copy, Debug)]
pub struct Logs {
    from: usize,
    thread: ThreadId,
}

/// A process that writes lines of the case.
pub trait Source: Send + Sync {
    /// Completes when the lines that it wrote so far are recorded.
    fn catch_up(&self);
}

/// The processes of each case, by its thread.
static SOURCES: Mutex<Vec<(ThreadId, Weak<dyn Source>)>> = Mutex::new(Vec::new());

fn sources() -> MutexGuard<'static, Vec<(ThreadId, Weak<dyn Source>)>> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Another process writes lines of the case that this thread runs.
pub fn comes_from(source: Weak<dyn Source>) {
    sources().push((thread::current().id(), source));
}

static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());
static INSTALL: Once = Once::new();

fn lines() -> MutexGuard<'static, Vec<Line>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logs {
    /// Starts recording, on this thread and on all others.
    pub fn begin() -> Self {
        INSTALL.call_once(|| {
            let subscriber = tracing_subscriber::registry().with(Recorder);
            // Fails if the process already has a subscriber; the log then stays empty, and the cases that need it fail.
            let _ = tracing::subscriber::set_global_default(subscriber);
        });
        let thread = thread::current().id();
        sources().retain(|(of, _)| *of != thread);
        Self {
            from: lines().len(),
            thread,
        }
    }

    /// The lines of all threads.
    pub fn everywhere(&self) -> Vec<Line> {
        let sources = sources().clone();
        let sources: Vec<_> = sources.iter().filter(|(thread, _)| *thread == self.thread).collect();
        for (_, source) in &sources {
            if let Some(source) = source.upgrade() {
                source.catch_up();
            }
        }
        let mut lines = lines()[self.from..].to_vec();
        if !sources.is_empty() {
            // The same case may run in another host at the same time.
            lines.retain(|line| !line.is_told || line.thread == self.thread);
        }
        lines
    }

    /// The lines that contain this text, as soon as there are at least so many of them. A host in another language writes a
    /// line when the guest has let go of the thread, which may be after the reply.
    pub async fn containing(&self, text: &str, count: usize) -> Result<Vec<Line>> {
        let lines = || {
            let mut lines = self.everywhere();
            lines.retain(|line| line.text.contains(text));
            lines
        };
        let wanted = format!("lines with `{text}`, at least {count}");
        let arrived = until(&wanted, || lines().len() >= count).await;
        arrived.with_context(|| format!("found are {:#?}", lines()))?;
        Ok(lines())
    }

    /// The lines of the thread that runs the case: the log of the steps before the application serves.
    pub fn here(&self) -> Vec<Line> {
        self.everywhere()
            .into_iter()
            .filter(|line| line.thread == self.thread)
            .collect()
    }
}

/// Records a line that another process wrote. `thread` is the one that runs the case.
pub fn record(level: Level, text: String, thread: ThreadId) {
    let id = text.split(" request_id=").nth(1).unwrap_or_default();
    let id = id.split(' ').next().filter(|id| !id.is_empty());
    let request = id.map(str::to_owned);
    lines().push(Line {
        level,
        text,
        request,
        thread,
        is_told: true,
    });
}

struct Recorder;

/// The id of the request that a span belongs to, among the span's extensions.
struct RequestOfSpan(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut request = Request(None);
        attributes.record(&mut request);
        if let (Some(id), Some(span)) = (request.0, context.span(id)) {
            span.extensions_mut().insert(RequestOfSpan(id));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // The lines of other crates would fill the memory of a long run.
        if *event.metadata().level() > Level::INFO || !event.metadata().target().starts_with("pointwork") {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let text = format!("{}{}", text.message, text.fields);
        lines().push(Line {
            level: *event.metadata().level(),
            text,
            request: context.event_scope(event).and_then(|mut scope| {
                scope.find_map(|span| {
                    span.extensions()
                        .get::<RequestOfSpan>()
                        .map(|request| request.0.clone())
                })
            }),
            thread: thread::current().id(),
            is_told: false,
        });
    }
}

struct Request(Option<String>);

impl Visit for Request {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "request_id" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
        match field.name() {
            "message" => self.message.push_str(value),
            _ if plain => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
