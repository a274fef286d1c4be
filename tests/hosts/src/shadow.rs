//! The functions of a case that are Rust: a host in another language passes their calls on, and answers later with what they
//! say.
//!
//! They run in an application of their own. An event that they call goes back to the host.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use pointwork::{App, AppOptions, Body, Delivery, Failure, FailureCode, Payload};
use pointwork_core::{BoxFuture, Context, Handler, HandlerFuture, Listener, Outcome, Peer};
use pointwork_test_runner::panic_message;
use serde_json::{Map, Value, json};

use crate::process::{HostError, Process, Words, text};

/// The Rust functions of one application.
pub struct Shadow {
    app: App,
    process: Arc<Process>,
    relayed: Mutex<HashSet<(String, String)>>,
    ends: Ends,
    /// The requests that run, by their ids.
    running: Mutex<HashMap<String, Running>>,
}

/// A request of the host.
struct Running {
    number: String,
    is_handed_over: bool,
}

/// How functions of routes ended, by the ids of their requests: the reply as the function made it, or the crash.
type Ends = Arc<Mutex<HashMap<String, Result<Response<Body>, String>>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shadow {
    /// No functions so far.
    ///
    /// # Errors
    /// The application does not start.
    pub fn new(process: &Arc<Process>) -> Result<Arc<Self>, pointwork::Error> {
        let mut options = AppOptions::new();
        // The host has deadlines of its own.
        options.router.deadline = Some(Duration::from_secs(3600));
        Ok(Arc::new(Self {
            app: App::with_options(options)?,
            process: process.clone(),
            relayed: Mutex::default(),
            ends: Ends::default(),
            running: Mutex::default(),
        }))
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
        let ends = self.ends.clone();
        let handler = Watched { handler, ends };
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
        if lock(&self.relayed).insert(new) {
            let (shadow, name) = (Arc::downgrade(self), format!("{channel}:{event}"));
            let relay = move |mut delivery: Delivery, payload: Payload| {
                let (shadow, name) = (shadow.upgrade(), name.clone());
                async move {
                    let shadow = shadow.ok_or_else(gone)?;
                    match delivery.take_context() {
                        Some(context) => shadow.hand_over(&context, name, payload).await,
                        None => shadow.call(name, payload).await,
                    }
                }
            };
            // A name that cannot be listened to is not called by any test.
            let _ = self.app.channel(channel).on_raw(event, relay);
        }
    }

    async fn call(&self, event: String, payload: Payload) -> Result<Payload, Failure> {
        let mut words = vec![event.into_bytes()];
        words.extend(words_of(payload));
        let called = self.process.step("call", words).await;
        called.map(payload_of).map_err(failure_of)
    }

    /// Hands the request over that the function has its own context for.
    async fn hand_over(&self, context: &Context, event: String, payload: Payload) -> Result<Payload, Failure> {
        let id = context.request_id().to_string();
        let number = lock(&self.running).get(&id).map(|running| running.number.clone());
        let mut words = vec![number.ok_or_else(gone)?.into_bytes(), event.into_bytes()];
        words.extend(words_of(payload));
        self.process.step("hand-over", words).await.map_err(failure_of)?;
        if let Some(running) = lock(&self.running).get_mut(&id) {
            running.is_handed_over = true;
        }
        Ok(Payload::null())
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
                let [content_type, data] = words_of(payload);
                vec![b"value".to_vec(), content_type, data]
            }
            Err(failure) => {
                let details = failure.details().map(|details| json!(details).to_string());
                let mut words = vec![
                    b"failed".to_vec(),
                    failure.status().as_str().as_bytes().to_vec(),
                    failure.code().as_str().as_bytes().to_vec(),
                    failure.message().as_bytes().to_vec(),
                    details.unwrap_or_default().into_bytes(),
                ];
                for (name, value) in failure.headers() {
                    words.extend([name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()]);
                }
                words
            }
        }
    }

    /// Answers a request: its id, the method, the target, the client's address, the body, and the headers. `number` is that of
    /// the call.
    pub async fn request(&self, number: &str, words: Words) -> Words {
        let [id, method, target, client, body, headers @ ..] = words.as_slice() else {
            return Words::new();
        };
        let crash = |why: String| vec![b"crashed".to_vec(), why.into_bytes()];
        let host = headers.chunks_exact(2).find(|header| header[0] == b"host");
        // The target of CONNECT is an authority, which has no path.
        let target = match (target.as_slice(), host) {
            (b"", Some(host)) => text(&host[1]),
            _ => text(target),
        };
        let mut request = Request::builder()
            .method(method.as_slice())
            .uri(target)
            .extension(Peer::new(text(client).parse::<SocketAddr>().ok(), false));
        for header in headers.chunks_exact(2).filter(|header| header[0] != b"x-request-id") {
            request = request.header(&header[0][..], &header[1][..]);
        }
        // The host's id, so that both tell the same.
        request = request.header("x-request-id", &id[..]);
        let request = match request.body(Body::from(body.clone())) {
            Ok(request) => request,
            Err(error) => return crash(error.to_string()),
        };
        let running = Running {
            number: number.to_owned(),
            is_handed_over: false,
        };
        lock(&self.running).insert(text(id), running);
        let reply = self.app.handle(request).await;
        let running = lock(&self.running).remove(&text(id));
        if running.is_some_and(|running| running.is_handed_over) {
            return vec![b"deferred".to_vec()];
        }
        let end = lock(&self.ends).remove(&text(id));
        let (head, mut body) = match end {
            // A function that replied by its context.
            None => reply.into_parts(),
            Some(Ok(reply)) => reply.into_parts(),
            Some(Err(why)) => return crash(why),
        };
        let (mut kind, mut whole) = ("reply", Vec::new());
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => whole.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Err(_) => kind = "broken",
            }
        }
        let status = head.status.as_str().as_bytes().to_vec();
        let mut words = vec![kind.as_bytes().to_vec(), status, whole];
        for (name, value) in &head.headers {
            words.extend([name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()]);
        }
        words
    }
}

fn own(number: usize) -> String {
    format!("n{number}")
}

fn gone() -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the case has ended")
}

fn words_of(payload: Payload) -> [Vec<u8>; 2] {
    [payload.content_type().as_bytes().to_vec(), payload.data().to_vec()]
}

fn failure_of(told: HostError) -> Failure {
    let status = StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut failure = Failure::with_code(FailureCode::new(told.code), status, told.text);
    let details: Map<String, Value> = serde_json::from_str(&told.details).unwrap_or_default();
    for (name, value) in details {
        failure = failure.detail(name, value);
    }
    for header in told.headers.chunks_exact(2) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(&header[0]), HeaderValue::from_bytes(&header[1])) {
            failure = failure.header(name, value);
        }
    }
    failure
}

fn payload_of(words: Words) -> Payload {
    let mut words = words.into_iter();
    let content_type = words.next().unwrap_or_default();
    Payload::new(text(&content_type), Bytes::from(words.next().unwrap_or_default()))
}

struct Caught(Arc<dyn Listener>);

impl Listener for Caught {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        self.0.deliver(delivery, payload)
    }
}

struct Watched {
    handler: Arc<dyn Handler>,
    ends: Ends,
}

impl Handler for Watched {
    fn call(&self, context: Context) -> HandlerFuture {
        let (handler, ends, id) = (
            self.handler.clone(),
            self.ends.clone(),
            context.request_id().to_string(),
        );
        // The function may panic before its first wait.
        let handling = async move { handler.call(context).await };
        Box::pin(async move {
            let end = match AssertUnwindSafe(handling).catch_unwind().await {
                Ok(Outcome::Reply(reply)) => Ok(reply),
                Ok(Outcome::Crashed(crash)) => Err(crash.message),
                Ok(Outcome::Deferred) => return Outcome::Deferred,
                Err(panic) => Err(panic_message(&*panic).to_owned()),
            };
            lock(&ends).insert(id, end);
            Outcome::Reply(Response::default())
        })
    }
}
