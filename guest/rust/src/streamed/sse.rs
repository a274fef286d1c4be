use std::fmt::Write as _;
use std::panic::Location;
use std::time::Duration;

use futures_core::Stream;
use serde::Serialize;

use super::{Piece, Pieces, Streamed};
use crate::failure::Failure;
use crate::reply::Reply;

/// Server-sent events as a reply: `text/event-stream`, which browsers read with `EventSource`.
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{Pieces, Sse, SseEvent, Streamed, controller};
///
/// struct Ticker;
///
/// #[controller("ticker")]
/// impl Ticker {
///     #[get]
///     fn count() -> Streamed<impl Pieces> {
///         Sse::iter((1..=2).map(|number| SseEvent::data(format!("{number}")).event("count")))
///     }
/// }
///
/// let answer = TestRequest::get("/ticker").run::<Ticker>();
/// assert_eq!(answer.text(), "event: count\ndata: 1\n\nevent: count\ndata: 2\n\n");
/// assert!(answer.is_finished());
/// ```
#[derive(Debug)]
pub enum Sse {}

impl Sse {
    /// The events of an iterator: [`SseEvent`], or a `Result` of it.
    pub fn iter<I: IntoIterator<Item: SsePiece>>(events: I) -> Streamed<impl Pieces> {
        Self::head().iter(events)
    }

    /// The events of a stream, in an asynchronous module.
    pub fn stream<S: Stream<Item: SsePiece>>(events: S) -> Streamed<impl Pieces> {
        Self::head().stream(events)
    }

    fn head() -> Reply {
        let reply = Reply::new(200_u16).header("content-type", "text/event-stream");
        reply.header("cache-control", "no-cache")
    }
}

/// A piece of an [`Sse`]: an [`SseEvent`], or a `Result` of it. A text has no frame, and could be several events.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no server-sent event",
    label = "expected an `SseEvent`, such as `SseEvent::data(text)`, or a `Result` of it"
)]
pub trait SsePiece: Piece {}

impl SsePiece for SseEvent {}

impl<T: SsePiece, E: Into<Failure>> SsePiece for Result<T, E> {}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    fields: String,
    data: String,
}

impl SseEvent {
    /// An event with this text, which may have several lines.
    pub fn data(text: impl AsRef<str>) -> Self {
        let mut event = Self::default();
        event.lines("data", text.as_ref());
        event
    }

    /// An event with a value as JSON.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let text = serde_json::to_string(value);
        text.map(Self::data)
            .map_err(|error| Failure::new(500_u16, format!("the event cannot be written as JSON: {error}")))
    }

    /// A line that clients ignore; it keeps the connection in use.
    pub fn comment(text: impl AsRef<str>) -> Self {
        let mut event = Self::default();
        event.lines("", text.as_ref());
        event
    }

    /// Sets the name of the event; without one it is `message`.
    #[track_caller]
    pub fn event(self, name: &str) -> Self {
        self.field("event", name)
    }

    /// Sets the id of the event, which a client that connects again sends as `last-event-id`.
    #[track_caller]
    pub fn id(self, id: &str) -> Self {
        self.field("id", id)
    }

    /// Sets the time after which a client connects again.
    pub fn retry(self, time: Duration) -> Self {
        self.field("retry", &time.as_millis().to_string())
    }

    /// A line break would begin another field, so a text with one is left out and logged with the place.
    #[track_caller]
    fn field(mut self, name: &str, text: &str) -> Self {
        if text.contains(['\n', '\r', '\0']) {
            let place = Location::caller();
            crate::log::error!(
                "the field `{name}` of a server-sent event has a line break and is left out, at {place}"
            );
        } else {
            let _ = writeln!(self.fields, "{name}: {text}");
        }
        self
    }

    fn lines(&mut self, name: &str, text: &str) {
        let text = text.replace("\r\n", "\n");
        for line in text.split(['\n', '\r']) {
            let _ = writeln!(self.data, "{name}: {line}");
        }
    }
}

impl Piece for SseEvent {
    fn into_piece(self) -> Result<Vec<u8>, Failure> {
        Ok(format!("{}{}\n", self.fields, self.data).into_bytes())
    }
}
