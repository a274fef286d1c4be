//! The functions of a case that are Rust: a host in another language passes their calls on, and answers later with what they
//! say.
//!
//! They run in an application of their own. An event that they call goes back to the host.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use pointwork::{App, Body, Delivery, Failure, FailureCode, Payload};
use pointwork_core::{BoxFuture, Context, Crash, CrashKind, Handler, HandlerFuture, Listener, Outcome, Peer};
use pointwork_wire_tests::message;

use crate::process::{Process, Words, text};

/// The Rust functions of one application.
pub struct Shadow {
    app: App,
    process: Arc<Process>,
    relayed: Mutex<HashSet<(String, String)>>,
}

/// The crash of a route's function, which its reply does not tell.
type Crashed = Arc<Mutex<Option<String>>>;

impl Shadow {
    /// No functions so far.
    ///
    /// # Errors
    /// The application does not start.
    pub fn new(process: &Arc<Process>) -> Result<Arc<Self>, pointwork::Error> {
        Ok(Arc::new(Self {
            app: App::new()?,
            process: process.clone(),
            relayed: Mutex::default(),
        }))
    }

    /// The program.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Adds the function of an event.
    ///
    /// # Errors
    /// It cannot be added.
    pub fn listen(&self, number: usize, event: &str, listener: Arc<dyn Listener>) -> Result<(), pointwork::Error> {
        self.app.channel(own(number)).on_raw(event, Caught(listener))?;
        Ok(())
    }

    /// Adds the function of a route.
    ///
    /// # Errors
    /// It cannot be added.
    pub fn route(&self, method: Option<&str>, path: &str, handler: Arc<dyn Handler>) -> Result<(), pointwork::Error> {
        let handler = Watched(handler);
        match method {
            Some(method) => self.app.register_route(method, path, handler)?,
            None => self.app.all(path, handler)?,
        };
        Ok(())
    }

    /// Sets the prefix of the routes that are added from now on.
    ///
    /// # Errors
    /// It is none.
    pub fn prefix(&self, prefix: &str) -> Result<(), pointwork::Error> {
        self.app.set_global_prefix(prefix)?;
        Ok(())
    }

    /// Passes calls of an event on to the host.
    pub fn relay(self: &Arc<Self>, channel: &str, event: &str) {
        let new = (channel.to_owned(), event.to_owned());
        let mut relayed = self.relayed.lock().unwrap_or_else(PoisonError::into_inner);
        if relayed.insert(new) {
            let (shadow, name) = (Arc::downgrade(self), format!("{channel}:{event}"));
            let relay = move |_: Delivery, payload: Payload| {
                let (shadow, name) = (shadow.upgrade(), name.clone());
                async move { shadow.ok_or_else(gone)?.call(name, payload).await }
            };
            // A name that cannot be listened to is not called by any test.
            let _ = self.app.channel(channel).on_raw(event, relay);
        }
    }

    async fn call(&self, event: String, payload: Payload) -> Result<Payload, Failure> {
        let (content_type, data) = payload.into_parts();
        let words = vec![event.into_bytes(), content_type.as_bytes().to_vec(), data.to_vec()];
        match self.process.step("call", words).await {
            Ok(words) => Ok(payload_of(words)),
            Err(told) => {
                let status = StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Err(Failure::with_code(FailureCode::new(told.code), status, told.text))
            }
        }
    }

    /// Answers an event: the number of its function, its name, and its payload.
    pub async fn event(&self, mut words: Words) -> Words {
        let payload = payload_of(words.split_off(2.min(words.len())));
        let [number, event] = words.as_slice() else {
            return Words::new();
        };
        let event = format!("n{}:{}", text(number), text(event));
        match self.app.caller().call_raw(&event, payload).await {
            Ok(payload) => {
                let (content_type, data) = payload.into_parts();
                vec![b"value".to_vec(), content_type.as_bytes().to_vec(), data.to_vec()]
            }
            Err(failure) => vec![
                b"failed".to_vec(),
                failure.status().as_str().as_bytes().to_vec(),
                failure.code().as_str().as_bytes().to_vec(),
                failure.message().as_bytes().to_vec(),
            ],
        }
    }

    /// Answers a request: the method, the target, the client's address, the body, and the headers.
    pub async fn request(&self, words: Words) -> Words {
        let [method, target, client, body, headers @ ..] = words.as_slice() else {
            return Words::new();
        };
        let crash = |why: String| vec![b"crashed".to_vec(), why.into_bytes()];
        let mut request = Request::builder()
            .method(method.as_slice())
            .uri(text(target))
            .extension(Peer::new(text(client).parse::<SocketAddr>().ok(), false));
        for header in headers.chunks_exact(2) {
            request = request.header(&header[0][..], &header[1][..]);
        }
        let request = match request.body(Body::from(body.clone())) {
            Ok(request) => request,
            Err(error) => return crash(error.to_string()),
        };
        let crashed = Crashed::default();
        let reply = CRASH.scope(crashed.clone(), self.app.handle(request)).await;
        let why = crashed.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(why) = why {
            return crash(why);
        }
        let (head, body) = reply.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let mut words = vec![
            b"reply".to_vec(),
            head.status.as_str().as_bytes().to_vec(),
            body.to_vec(),
        ];
        for (name, value) in &head.headers {
            words.extend([name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()]);
        }
        words
    }
}

tokio::task_local! {
    static CRASH: Crashed;
}

fn own(number: usize) -> String {
    format!("n{number}")
}

fn gone() -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the case has ended")
}

fn payload_of(words: Words) -> Payload {
    let mut words = words.into_iter();
    let content_type = words.next().unwrap_or_default();
    Payload::new(text(&content_type), Bytes::from(words.next().unwrap_or_default()))
}

fn crash(panic: &(dyn std::any::Any + Send)) -> Crash {
    Crash::new(CrashKind::Panic, message(panic).to_owned())
}

struct Caught(Arc<dyn Listener>);

impl Listener for Caught {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        self.0.deliver(delivery, payload)
    }
}

struct Watched(Arc<dyn Handler>);

impl Handler for Watched {
    fn call(&self, context: Context) -> HandlerFuture {
        let handling = self.0.call(context);
        let slot = CRASH.try_with(Clone::clone).unwrap_or_default();
        Box::pin(async move {
            let outcome = match AssertUnwindSafe(handling).catch_unwind().await {
                Ok(outcome) => outcome,
                Err(panic) => Outcome::Crashed(Box::new(crash(&*panic))),
            };
            if let Outcome::Crashed(crash) = &outcome {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(crash.message.clone());
            }
            outcome
        })
    }
}
