//! Channels in the host application.

use std::future::Future;
use std::sync::Arc;

use pointwork_core::{Bus, Delivery, Failure, Listener, Payload, Subscription};
use pointwork_events::{Event, EventData as _};

use crate::{Error, ErrorKind};

/// A channel of the host application, to bind listeners to (spec C1). [`App::channel`](crate::App::channel) makes it;
/// it can be dropped when its listeners are bound.
///
/// ```
/// use pointwork::{App, Failure, events::events, http::StatusCode};
///
/// events! {
///     /// The name of the product of that id.
///     pub ProductName = "db:product:name": u64 => String;
///     /// A visitor looked at the product of that id.
///     pub ProductViewed = "db:product:viewed": u64;
/// }
///
/// # fn main() -> Result<(), pointwork::Error> {
/// let app = App::new()?;
/// app.channel("db")
///     .on(ProductName, |id| async move {
///         let found = (id < 100).then(|| format!("product {id}"));
///         found.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "no such product"))
///     })?
///     .on(ProductViewed, |id| async move { println!("{id} was viewed") })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, derive_more::Display)]
#[display("{name}")]
pub struct Channel {
    bus: Bus,
    name: String,
}

/// The value of a typed listener: the event's output, or a `Result` with any error that converts into [`Failure`].
pub trait ListenerResult<T> {
    /// The output, or the failure for the caller.
    ///
    /// # Errors
    /// The listener's own.
    fn into_result(self) -> Result<T, Failure>;
}

impl<T> ListenerResult<T> for T {
    fn into_result(self) -> Result<T, Failure> {
        Ok(self)
    }
}

impl<T, E: Into<Failure>> ListenerResult<T> for Result<T, E> {
    fn into_result(self) -> Result<T, Failure> {
        self.map_err(Into::into)
    }
}

impl Channel {
    pub(crate) fn new(bus: Bus, name: String) -> Self {
        Self { bus, name }
    }

    /// Binds a listener to an event by its type. The listener returns the event's output, or a `Result` with any error that
    /// converts into [`Failure`]. The value goes to the caller of `call`; for an emitted event an error is reported as
    /// `server:crashed`.
    ///
    /// The event's declared name may begin with this channel's name or be the plain name. A payload that is not of the
    /// event's type is refused to the caller before the listener runs (spec H8).
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if the event's name names another channel, or has a listener here already;
    /// [`Closed`](ErrorKind::Closed).
    pub fn on<E, F, Fut>(&self, event: E, listener: F) -> Result<&Self, Error>
    where
        E: Event,
        F: Fn(E::Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: ListenerResult<E::Output>> + Send + 'static,
    {
        self.on_delivery(event, move |_, payload| listener(payload))
    }

    /// As [`on`](Self::on), for a listener that takes the delivery too: the id of the request, the deadline, the context that
    /// was handed over, and a way to call and emit further events.
    ///
    /// ```
    /// use pointwork::{App, events::{Payload, events}};
    ///
    /// events! {
    ///     /// The image of that id.
    ///     pub Image = "files:image": u64 => Payload;
    /// }
    ///
    /// # fn main() -> Result<(), pointwork::Error> {
    /// let app = App::new()?;
    /// app.channel("files").on_delivery(Image, |delivery, id| async move {
    ///     println!("{:?} reads the image {id}", delivery.request_id());
    ///     Payload::new("image/png", [137, b'P', b'N', b'G'].as_slice())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub fn on_delivery<E, F, Fut>(&self, event: E, listener: F) -> Result<&Self, Error>
    where
        E: Event,
        F: Fn(Delivery, E::Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: ListenerResult<E::Output>> + Send + 'static,
    {
        let _ = event;
        let name = self.own_name(E::NAME);
        let listener = move |delivery: Delivery, payload: Payload| {
            let heard = E::Payload::from_payload(payload).map(|payload| listener(delivery, payload));
            async move { Ok(heard?.await.into_result()?.into_payload()?) }
        };
        self.subscribe(name, Arc::new(listener))
    }

    /// Binds a listener to an event by its name within the channel. The listener sees the payload as it came, and the
    /// delivery with the context if one was handed over (spec H6).
    ///
    /// # Errors
    /// As [`on`](Self::on), and for a name that cannot be one.
    pub fn on_raw(&self, event: &str, listener: impl Listener) -> Result<&Self, Error> {
        self.subscribe(event, Arc::new(listener))
    }

    fn own_name<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.name)
            .and_then(|rest| rest.strip_prefix(':'))
            .unwrap_or(name)
    }

    fn subscribe(&self, event: &str, listener: Arc<dyn Listener>) -> Result<&Self, Error> {
        let subscription = Subscription {
            channel: self.name.clone(),
            event: event.to_owned(),
            module: None,
            listener,
        };
        let message = format!("the listener of `{event}` on channel `{}` is refused", self.name);
        self.bus.subscribe([subscription]).map_err(|error| {
            let closed = error.kind() == pointwork_core::ErrorKind::Closed;
            let kind = if closed { ErrorKind::Closed } else { ErrorKind::Refused };
            Error::new(kind, message).with_source(error)
        })?;
        Ok(self)
    }
}
