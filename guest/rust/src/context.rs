use std::marker::PhantomData;
use std::ops::Deref;

use pointwork_events::{Event, IoEvent};

use crate::bindings::types::Failure;
use crate::form::{Async, Blocking};
use crate::reply::{Deferred, IntoOutcome, Outcome, Reply, Throw};
use crate::stream::{BodyReader, BodyWriter};
use crate::{CallError, Request, backend, payload};

/// A request that waits for its reply, and the only door that a controller has to anything outside itself.
///
/// The host makes it and hands it to the handler, by value or by reference as the handler declares; a listener gets it if
/// a handler handed it over (spec H6). Everything about
/// the request is read through [`Request`], to which it dereferences. Without a parameter it is the context of a
/// synchronous handler, whose waiting functions suspend the instance; see [`AsyncContext`] for the other form.
///
/// Dropping it without a reply tells the host that nobody will answer, and the client gets 500 (spec H7).
///
/// ```
/// use pointwork_guest::{Context, Event, Throw, events};
///
/// events! {
///     pub Stock = "db:product:stock": String => u32;
///     pub StockRead = "audit:stock-read": String;
/// }
///
/// fn stock(ctx: &Context) -> Result<String, Throw> {
///     let name = ctx.param("name").unwrap_or_default();
///     let count = ctx.emit::<StockRead>(name.clone()).call::<Stock>(name)?;
///     Ok(count.to_string())
/// }
/// ```
#[derive(Debug)]
pub struct Context<F = Blocking> {
    request: Request,
    form: PhantomData<F>,
}

/// The context of a handler of the asynchronous form: its waiting functions are awaited, and meanwhile the instance
/// serves other requests.
///
/// ```
/// use pointwork_guest::{AsyncContext, Throw, events};
///
/// events! { pub Stock = "db:product:stock": String => u32; }
///
/// async fn stock(ctx: &AsyncContext) -> Result<String, Throw> {
///     Ok(ctx.call::<Stock>("tea".into()).await?.to_string())
/// }
/// ```
pub type AsyncContext = Context<Async>;

impl<F> Deref for Context<F> {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl<F> Context<F> {
    pub(crate) fn new(raw: backend::Context) -> Self {
        Self {
            request: Request { raw },
            form: PhantomData,
        }
    }

    /// Puts an event into its listener's queue and returns the context at once (spec H3).
    ///
    /// What becomes of the event shows in the host's log and in `server:crashed`, never here.
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        match payload::encode(&payload) {
            Ok(payload) => self.raw.emit(E::NAME, &payload),
            Err(error) => crate::log::error!("event `{}` was not emitted: {error}", E::NAME),
        }
        self
    }

    /// Gives the context away to the listener of an event, which replies in the handler's stead (spec H6).
    ///
    /// Return the value: it leaves the reply open.
    ///
    /// ```
    /// use pointwork_guest::{CallError, Context, Deferred, events};
    ///
    /// events! { pub Send = "response:send": String; }
    ///
    /// fn greet(ctx: Context) -> Result<Deferred, CallError> {
    ///     ctx.hand_over::<Send>("hello".into())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Nobody listens to the event, or the payload could not be written. The context is gone all the same; the handler
    /// may still return the error, or any other reply.
    pub fn hand_over<E: Event>(self, payload: E::Payload) -> Result<Deferred, CallError> {
        let payload = payload::of_call::<E>(&payload)?;
        backend::hand_over(E::NAME, self.request.raw, &payload)
            .map(|()| Deferred)
            .map_err(|failure| CallError::new(E::NAME, failure))
    }

    /// Replies now, while the handler goes on. Its own value must then be `()`, the context, or [`Deferred`].
    ///
    /// # Errors
    ///
    /// `already-replied` if somebody replied before, which changes nothing (spec H7); `invalid-reply` if HTTP has no such
    /// reply.
    pub fn send(&self, reply: impl IntoOutcome) -> Result<(), CallError> {
        let sent = match reply.into_outcome() {
            Outcome::Reply(reply) => self.raw.send(&reply.into()),
            Outcome::Throw(thrown) => self.raw.throw(thrown.status(), thrown.message()),
            Outcome::Deferred => Ok(()),
        };
        sent.map_err(|failure| CallError::new("send", failure))
    }

    /// Ends the request with an error: the client gets `status` (400 to 599) and the JSON body `{"message": message}`
    /// (spec H4).
    ///
    /// It makes the error; returning it is what ends the request. The result type is the handler's own, so that the
    /// call can stand behind `return`.
    ///
    /// ```
    /// use pointwork_guest::{Context, HttpStatus, Throw};
    ///
    /// fn show(ctx: &Context) -> Result<String, Throw> {
    ///     match ctx.param("id").as_deref() {
    ///         Some("1") => Ok("tea".into()),
    ///         _ => return ctx.throw(HttpStatus::NOT_FOUND, "no such product"),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Always: it is an error.
    pub fn throw<T>(&self, status: impl Into<u16>, message: impl Into<String>) -> Result<T, Throw> {
        Err(Throw::new(status, message))
    }

    /// Replies with a head now and a body piece by piece. Counts as the reply from here on, so the handler's value must
    /// be `()`, the context, or [`Deferred`]. A body of `head` is not sent.
    ///
    /// # Errors
    ///
    /// `already-replied` if somebody replied before; `invalid-reply` if HTTP has no such head.
    pub fn open_reply(&self, head: Reply) -> Result<BodyWriter<F>, CallError> {
        let head = crate::bindings::types::Reply::from(head);
        self.raw
            .open_reply(head.status, &head.headers)
            .map(BodyWriter::new)
            .map_err(|failure| CallError::new("open_reply", failure))
    }

    /// Reads the request body piece by piece, however large it is.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before: it can be taken once, whole or piece by piece.
    pub fn open_body(&self) -> Result<BodyReader<F>, CallError> {
        self.raw
            .open_body()
            .map(BodyReader::new)
            .map_err(|failure| CallError::new("open_body", failure))
    }
}

impl Context<Blocking> {
    /// Calls the listener of an event and suspends the instance until it returned (spec H3).
    ///
    /// # Errors
    ///
    /// The listener failed, there is none, or what it returned is not `E::Output`. `?` turns the error into a reply; see
    /// [`CallError`].
    pub fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, CallError> {
        let payload = payload::of_call::<E>(&payload)?;
        payload::of_answer::<E>(self.raw.call(E::NAME, &payload))
    }

    /// The whole request body. A handler that takes [`Json`](crate::Json), `String` or `Vec<u8>` need not ask for it.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before; `too-large` if it is over the host's limit.
    pub fn body(&self) -> Result<Vec<u8>, CallError> {
        self.read_body().map_err(|failure| CallError::new("body", failure))
    }

    pub(crate) fn read_body(&self) -> Result<Vec<u8>, Failure> {
        self.raw.body()
    }
}

impl Context<Async> {
    /// Calls the listener of an event and waits for what it returns (spec H3).
    ///
    /// It borrows the context, so that several calls can be in flight at once, and take as long as the longest of them.
    /// Any crate that joins futures does, such as `futures-util`:
    ///
    /// ```
    /// use futures_util::future::try_join;
    /// use pointwork_guest::{AsyncContext, CallError, events};
    ///
    /// events! {
    ///     pub Price = "db:price": u64 => f64;
    ///     pub Stock = "store:stock": u64 => u32;
    /// }
    ///
    /// async fn show(ctx: &AsyncContext) -> Result<String, CallError> {
    ///     let (price, stock) = try_join(ctx.call::<Price>(7), ctx.call::<Stock>(7)).await?;
    ///     Ok(format!("{stock} at {price}"))
    /// }
    /// ```
    ///
    /// The listeners of one module run at once as well if the module has the asynchronous form, or more than one
    /// instance.
    ///
    /// # Errors
    ///
    /// As for [`Context::call`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the call; the listener may have run in part or in full.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, CallError> {
        let payload = payload::of_call::<E>(&payload)?;
        payload::of_answer::<E>(backend::waiting::call(&self.raw, E::NAME.to_owned(), payload).await)
    }

    /// The whole request body. A handler that takes [`Json`](crate::Json), `String` or `Vec<u8>` need not ask for it.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before; `too-large` if it is over the host's limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the body.
    pub async fn body(&self) -> Result<Vec<u8>, CallError> {
        self.read_body()
            .await
            .map_err(|failure| CallError::new("body", failure))
    }

    pub(crate) async fn read_body(&self) -> Result<Vec<u8>, Failure> {
        backend::waiting::body(&self.raw).await
    }

    pub(crate) fn into_blocking(self) -> Context<Blocking> {
        Context {
            request: self.request,
            form: PhantomData,
        }
    }
}
