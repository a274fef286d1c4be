//! The log, as a function of the host's language.

use std::cell::Cell;
use std::fmt::{self, Write as _};

use pointwork::off_fiber;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::error::{Error, ErrorKind};
use crate::function::OffFiber;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// Its level.
    pub level: Level,
    /// The part of the host that wrote it, such as `pointwork::app::publish`.
    pub target: String,
    /// The message, with its fields and those of its request behind it as `name=value`.
    pub message: String,
}

type Write = Box<dyn Fn(LogLine) + Send + Sync>;

/// Has a function write the log of this process, at that level and above; lines of code other than Pointwork's are left out.
/// It is called where no guest is on the stack, on any thread, and must not block for long. The application refuses whatever the
/// function asks of it: a line may be written while the application is locked. Lines that come up while the
/// function runs on the same thread are dropped.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) if the log of this process has a writer already: there is one for all applications.
pub fn write_log(level: Level, write: impl Fn(LogLine) + Send + Sync + 'static) -> Result<(), Error> {
    let write: Write = Box::new(write);
    let write = &*Box::leak(Box::new(OffFiber::new(write)));
    let subscriber = tracing_subscriber::registry().with(Lines { level, write });
    tracing::subscriber::set_global_default(subscriber).map_err(|_| {
        Error::new(
            ErrorKind::Refused,
            "the log of this process has a writer already, expected one call",
        )
    })
}

/// # Errors
/// [`Refused`](ErrorKind::Refused): a line of the log is being written on this thread.
pub(crate) fn refuse_in_writer() -> Result<(), Error> {
    // A thread that is at its end writes no line.
    if !WRITES.try_with(Cell::get).unwrap_or(false) {
        return Ok(());
    }
    let message = "the application was used by the function that writes the log, expected a use outside of it";
    Err(Error::new(ErrorKind::Refused, message))
}

struct Lines {
    level: Level,
    write: &'static OffFiber<Write>,
}

thread_local! {
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// The fields of a span, as they stand behind a message.
struct Fields(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("pointwork")
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, id: &tracing::span::Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut line = Line::default();
            attributes.record(&mut line);
            span.extensions_mut().insert(Fields(line.fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if WRITES.get() {
            return;
        }
        let mut line = Line::default();
        event.record(&mut line);
        let Line { mut message, fields } = line;
        message.push_str(&fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(Fields(fields)) = span.extensions().get() {
                message.push_str(fields);
            }
        }
        let metadata = event.metadata();
        let line = LogLine {
            level: *metadata.level(),
            target: metadata.target().to_owned(),
            message,
        };
        let write = self.write;
        off_fiber(move || {
            WRITES.set(true);
            // A writer that panics must not end the thread that logs, and there is no other place for its panic.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write(line)));
            WRITES.set(false);
        });
    }
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
        match field.name() {
            "message" => self.message.push_str(value),
            _ if plain => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}
