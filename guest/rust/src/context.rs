use std::marker::PhantomData;
use std::ops::Deref;

use pointwork_events::{Event, IoEvent};

use crate::failure::Failure;
use crate::form::{Async, Blocking};
use crate::guards_run::GuardsRun;
use crate::reply::{Deferred, IntoOutcome, Outcome, Reply};
use crate::request::{Request, check_text};
use crate::stream::{BodyReader, BodyWriter};
use crate::{backend, payload};

/// A request and its reply. A controller reaches everything outside itself through it.
///
/// The handler takes it by value or by reference; a listener gets it if a handler hands it over. It
/// dereferences to [`Request`]. `Context` without a type parameter belongs to the synchronous form, in which a call
/// suspends the instance; [`AsyncContext`] belongs to the asynchronous one.
///
/// If the last holder drops it without a reply, the client gets 500.
///
/// ```
/// use pointwork_guest::{Context, Event, Failure, events};
///
/// events! {
///     pub Stock = "db:product:stock": String => u32;
///     pub StockRead = "audit:stock-read": String;
/// }
///
/// fn stock(ctx: &Context) -> Result<String, Failure> {
///     let name = ctx.param("name").unwrap_or_default();
///     let count = ctx.emit::<StockRead>(name.clone()).call::<Stock>(name)?;
///     Ok(count.to_string())
/// }
/// ```
#[derive(Debug)]
#[repr(transparent)]
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
            request: Request {
                raw,
                guards: GuardsRun::default(),
            },
            form: PhantomData,
        }
    }

    /// The same context in another form. No module has both: a form that the module does not have is that of a unit test.
    #[doc(hidden)]
    pub fn of_form<G>(&self) -> &Context<G> {
        // SAFETY: a context is laid out like its request in every form.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    pub(crate) fn into_raw(self) -> backend::Context {
        self.request.raw
    }

    #[doc(hidden)]
    pub fn into_form<G>(self) -> Context<G> {
        Context {
            request: self.request,
            form: PhantomData,
        }
    }

    /// Queues an event for its listener and returns at once.
    ///
    /// It returns no error: a failure appears in the host's log and as `server:crashed`.
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        if let Some(payload) = payload::for_emit::<E>(payload) {
            self.raw.emit(E::NAME, &payload);
        }
        self
    }

    /// Hands the context over to the listener of an event, which replies instead of the handler.
    ///
    /// The handler returns the [`Deferred`].
    ///
    /// ```
    /// use pointwork_guest::{Failure, Context, Deferred, events};
    ///
    /// events! { pub Send = "response:send": String; }
    ///
    /// fn greet(ctx: Context) -> Result<Deferred, Failure> {
    ///     ctx.hand_over::<Send>("hello".into())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The event has no listener, or the payload cannot be written as JSON. The context is dropped; the handler can
    /// still return the error or another reply.
    pub fn hand_over<E: Event>(self, payload: E::Payload) -> Result<Deferred, Failure> {
        let payload = payload::for_call::<E>(payload)?;
        backend::hand_over(E::NAME, self.request.raw, &payload)
            .map(|()| Deferred)
            .map_err(Failure::from_call(E::NAME))
    }

    /// Replies now; the handler continues. Its return value must then be `()`, the context, or [`Deferred`].
    ///
    /// # Errors
    ///
    /// `already-replied` if the request has a reply already, which stays unchanged; `invalid-reply` if the
    /// reply is not valid HTTP.
    #[track_caller]
    pub fn send(&self, reply: impl IntoOutcome) -> Result<(), Failure> {
        let sent = match reply.into_outcome() {
            Outcome::Reply(reply) => self.raw.send(&reply.into_raw()?),
            Outcome::Thrown(failure) if failure.is_wrong_reply() => return Err(failure.of_call("send")),
            Outcome::Thrown(failure) => self.raw.throw(&failure.into()),
            Outcome::Deferred => Ok(()),
        };
        sent.map_err(Failure::from_call("send"))
    }

    /// Makes an error that ends the request when the handler returns it: the client gets `status` (400 to 599; any other
    /// becomes 500) and a JSON object with `message`.
    ///
    /// ```
    /// use pointwork_guest::{Context, Failure, HttpStatus};
    ///
    /// fn show(ctx: &Context) -> Result<String, Failure> {
    ///     let id = ctx.param("id").unwrap_or_default();
    ///     if id != "1" {
    ///         return Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product").detail("id", id));
    ///     }
    ///     Ok("tea".into())
    /// }
    /// ```
    pub fn throw(&self, status: impl Into<u16>, message: impl Into<String>) -> Failure {
        Failure::new(status, message)
    }

    /// Sends the head of the reply now and returns the body as a stream. The handler's return value must then be `()`,
    /// the context, or [`Deferred`]. The body of `head` is not sent.
    ///
    /// # Errors
    ///
    /// `already-replied` if the request has a reply already; `invalid-reply` if the head is not valid HTTP.
    pub fn open_reply(&self, head: Reply) -> Result<BodyWriter<F>, Failure> {
        let head = head.into_raw()?;
        self.raw
            .open_reply(head.status, &head.headers)
            .map(BodyWriter::new)
            .map_err(Failure::from_call("open_reply"))
    }

    /// The request body as a stream. On a route with `body = "stream"` the handler runs before the body has arrived, and
    /// the body has any size; otherwise the host holds the whole body already.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before: it can be taken once, whole or as a stream; and on a route with
    /// `body = "none"`.
    pub fn open_body(&self) -> Result<BodyReader<F>, Failure> {
        self.raw
            .open_body()
            .map(BodyReader::new)
            .map_err(Failure::from_call("open_body"))
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
    /// Calls the listener of an event and suspends the instance until it returns.
    ///
    /// # Errors
    ///
    /// The listener failed, the event has none, or the result is not an `E::Output`. `?` converts the error into a
    /// reply; see [`Failure`].
    pub fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        let payload = payload::for_call::<E>(payload)?;
        payload::call_result::<E>(backend::blocking::call(&self.raw, E::NAME, &payload))
    }

    /// The whole request body. Arguments of type [`Json`](crate::Json) or `Vec<u8>` do the same.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before or the route has `body = "none"`; `too-large` if it is over the host's limit.
    pub fn body(&self) -> Result<Vec<u8>, Failure> {
        backend::blocking::body(&self.raw).map_err(Failure::from_call("body"))
    }

    /// The whole request body as text, without a byte order mark. An argument of type `String` does the same.
    ///
    /// # Errors
    ///
    /// As for [`body`](Self::body); `bad-payload` with status 400 if it is not UTF-8; 415 if its `content-type` has another
    /// charset.
    pub fn text(&self) -> Result<String, Failure> {
        check_text(self)?;
        let text = backend::blocking::text(&self.raw).map_err(Failure::from_call("text"))?;
        Ok(without_mark(text))
    }
}

impl Context<Async> {
    /// Calls the listener of an event and waits for what it returns.
    ///
    /// It borrows the context, so several calls can be in flight at once. Any crate that joins futures works, such as
    /// `futures-util`:
    ///
    /// ```
    /// use futures_util::future::try_join;
    /// use pointwork_guest::{AsyncContext, Failure, events};
    ///
    /// events! {
    ///     pub Price = "db:price": u64 => f64;
    ///     pub Stock = "store:stock": u64 => u32;
    /// }
    ///
    /// async fn show(ctx: &AsyncContext) -> Result<String, Failure> {
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
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        let payload = payload::for_call::<E>(payload)?;
        payload::call_result::<E>(backend::waiting::call(&self.raw, E::NAME.to_owned(), payload).await)
    }

    /// The whole request body. Arguments of type [`Json`](crate::Json) or `Vec<u8>` do the same.
    ///
    /// # Errors
    ///
    /// `gone` if the body was taken before or the route has `body = "none"`; `too-large` if it is over the host's limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the body.
    pub async fn body(&self) -> Result<Vec<u8>, Failure> {
        backend::waiting::body(&self.raw)
            .await
            .map_err(Failure::from_call("body"))
    }

    /// The whole request body as text, without a byte order mark. An argument of type `String` does the same.
    ///
    /// # Errors
    ///
    /// As for [`body`](Self::body); `bad-payload` with status 400 if it is not UTF-8; 415 if its `content-type` has another
    /// charset.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the body.
    pub async fn text(&self) -> Result<String, Failure> {
        check_text(self)?;
        let text = backend::waiting::text(&self.raw)
            .await
            .map_err(Failure::from_call("text"))?;
        Ok(without_mark(text))
    }
}

/// The text without the byte order mark at its beginning.
fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    text
}
