use std::marker::PhantomData;
use std::ops::Deref;

use pointwork_events::{Event, IoEvent};

use crate::bindings::types;
use crate::call_error::CallError;
use crate::form::{Async, Blocking};
use crate::reply::{Deferred, IntoOutcome, Outcome, Reply};
use crate::request::Request;
use crate::stream::{BodyReader, BodyWriter};
use crate::throw::Throw;
use crate::{backend, payload};

/// A request and its reply. A controller reaches everything outside itself through it.
///
/// The handler takes it by value or by reference; a listener gets it if a handler hands it over (spec H6). It
/// dereferences to [`Request`]. `Context` without a type parameter belongs to the synchronous form, in which a call
/// suspends the instance; [`AsyncContext`] belongs to the asynchronous one.
///
/// If the last holder drops it without a reply, the client gets 500 (spec H7).
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

/// The context of the asynchronous form: functions that wait are `async`, and meanwhile the instance serves other
/// requests.
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

    /// Queues an event for its listener and returns at once (spec H3).
    ///
    /// It returns no error: a failure appears in the host's log and as `server:crashed`.
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        if let Some(payload) = payload::for_emit::<E>(&payload) {
            self.raw.emit(E::NAME, &payload);
        }
        self
    }

    /// Hands the context over to the listener of an event, which replies instead of the handler (spec H6).
    ///
    /// The handler returns the [`Deferred`].
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
    /// The event has no listener, or the payload cannot be written as JSON. The context is dropped; the handler can
    /// still return the error or another reply.
    pub fn hand_over<E: Event>(self, payload: E::Payload) -> Result<Deferred, CallError> {
        let payload = payload::for_call::<E>(&payload)?;
        backend::hand_over(E::NAME, self.request.raw, &payload)
            .map(|()| Deferred)
            .map_err(CallError::of(E::NAME))
    }

    /// Replies now; the handler continues. Its return value must then be `()`, the context, or [`Deferred`].
    ///
    /// # Errors
    ///
    /// `already-replied` if the request has a reply already, which stays unchanged (spec H7); `invalid-reply` if the
    /// reply is not valid HTTP.
    pub fn send(&self, reply: impl IntoOutcome) -> Result<(), CallError> {
        let sent = match reply.into_outcome() {
            Outcome::Reply(reply) => self.raw.send(&reply.into()),
            Outcome::Throw(thrown) => self.raw.throw(thrown.status(), thrown.message()),
            Outcome::Deferred => Ok(()),
        };
        sent.map_err(CallError::of("send"))
    }

    /// Ends the request with an error: the client gets `status` (400 to 599) and the JSON body `{"message": message}`
    /// (spec H4).
    ///
    /// The request ends when the handler returns the error. The type parameter fits any result type, so that
    /// `return ctx.throw(…)` compiles in every handler.
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
    /// Always.
    pub fn throw<T>(&self, status: impl Into<u16>, message: impl Into<String>) -> Result<T, Throw> {
        Err(Throw::new(status, message))
    }

    /// Sends the head of the reply now and returns the body as a stream. The handler's return value must then be `()`,
    /// the context, or [`Deferred`]. The body of `head` is not sent.
    ///
    /// # Errors
    ///
    /// `already-replied` if the request has a reply already; `invalid-reply` if the head is not valid HTTP.
    pub fn open_reply(&self, head: Reply) -> Result<BodyWriter<F>, CallError> {
        let head = types::Reply::from(head);
        self.raw
            .open_reply(head.status, &head.headers)
            .map(BodyWriter::new)
            .map_err(CallError::of("open_reply"))
    }

    /// The request body as a stream, for bodies of any size.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before: it can be taken once, whole or as a stream.
    pub fn open_body(&self) -> Result<BodyReader<F>, CallError> {
        self.raw
            .open_body()
            .map(BodyReader::new)
            .map_err(CallError::of("open_body"))
    }
}

impl<F> IntoOutcome for Context<F> {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}

impl<F> IntoOutcome for &Context<F> {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}

impl Context<Blocking> {
    /// Calls the listener of an event and suspends the instance until it returns (spec H3).
    ///
    /// # Errors
    ///
    /// The listener failed, the event has none, or the result is not an `E::Output`. `?` converts the error into a
    /// reply; see [`CallError`].
    pub fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, CallError> {
        let payload = payload::for_call::<E>(&payload)?;
        payload::call_result::<E>(self.raw.call(E::NAME, &payload))
    }

    /// Waits for the whole request body. Arguments of type [`Json`](crate::Json), `String` or `Vec<u8>` do the same.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before; `too-large` if it is over the host's limit.
    pub fn body(&self) -> Result<Vec<u8>, CallError> {
        self.raw.body().map_err(CallError::of("body"))
    }
}

impl Context<Async> {
    /// Calls the listener of an event and waits for what it returns (spec H3).
    ///
    /// It borrows the context, so several calls can be in flight at once. Any crate that joins futures works, such as
    /// `futures-util`:
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
        let payload = payload::for_call::<E>(&payload)?;
        payload::call_result::<E>(backend::waiting::call(&self.raw, E::NAME.to_owned(), payload).await)
    }

    /// Waits for the whole request body. Arguments of type [`Json`](crate::Json), `String` or `Vec<u8>` do the same.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before; `too-large` if it is over the host's limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the body.
    pub async fn body(&self) -> Result<Vec<u8>, CallError> {
        backend::waiting::body(&self.raw).await.map_err(CallError::of("body"))
    }

    /// For a block without `async fn` in an asynchronous module.
    #[doc(hidden)]
    pub fn into_blocking(self) -> Context<Blocking> {
        Context {
            request: self.request,
            form: PhantomData,
        }
    }
}
