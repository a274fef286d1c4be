//! Runs the program of a handler or listener.
//!
//! A program has one text. Most steps append to the text, and the end of the program makes the text the reply or the result.
//! A text is bytes, because a request body need not be UTF-8. The code serves both forms: it awaits every function that
//! waits, and in the synchronous form such a function is done when it returns.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Display;
use std::io::{Write as _, stderr, stdout};
use std::mem::{forget, take};
use std::pin::pin;
use std::ptr::read_volatile;
use std::str::from_utf8_unchecked;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Poll, Waker};
use std::time::{SystemTime, UNIX_EPOCH};

use pointwork_guest::__private::{NamedCalls, emit_named, emit_named_from, hand_over_named, unchecked_reply};
use pointwork_guest::bindings::types;
use pointwork_guest::{
    BodyWriter, Context, Delivery, Failure, IntoOutcome as _, Outcome, Payload, Reply, ReplyParts as _, log,
};
use serde_json::Value;

use crate::slot::list;
use crate::surroundings;

const NONE: &str = "(none)";
const JSON: &str = "application/json";

/// The largest chunk that an echo reads.
const CHUNK: u32 = 65536;

/// The number of runs of handlers and listeners in this instance.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// The delivery through which a listener calls and emits.
enum ListenerDelivery<F: 'static> {
    Own(Delivery<F>),
    /// The first delivery of the instance, which an earlier listener kept.
    First(&'static Delivery<F>),
}

impl<F> ListenerDelivery<F> {
    fn get(&self) -> &Delivery<F> {
        match self {
            Self::Own(delivery) => delivery,
            Self::First(delivery) => delivery,
        }
    }
}

/// A run of a program.
pub struct Run<F: 'static> {
    program: &'static Value,
    text: Vec<u8>,
    /// The context of a handler, or the one that a listener took.
    context: Option<Context<F>>,
    delivery: Option<ListenerDelivery<F>>,
    content_type: String,
    writer: Option<BodyWriter<F>>,
    /// The message with which the program panics, unless it told the host of a crash before.
    panic: Option<String>,
}

/// The result of a future of the synchronous form, in which nothing waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a program of the synchronous form waits"),
    }
}

impl<F: NamedCalls> Run<F> {
    /// Runs the program of a handler.
    pub async fn handle(program: &'static Value, context: Context<F>) -> Outcome {
        RUNS.fetch_add(1, Ordering::Relaxed);
        let mut run = Self::begin(program);
        run.context = Some(context);
        run.steps().await;
        let text = take(&mut run.text);
        match end(program) {
            ("reply", [kind]) => {
                let status = number(&program["status"]).unwrap_or(200);
                let headers = headers(&program["headers"]);
                if is_unchecked(program) {
                    let headers = headers.into_iter().map(raw_header).collect();
                    let body = types::Body::Bytes(text);
                    return unchecked_reply(types::Reply { status, headers, body });
                }
                match kind.as_str() {
                    Some("empty") => headers.add_to(Reply::new(status)).into_outcome(),
                    Some("bytes") => (status, headers, text).into_outcome(),
                    // The payload is sent as it is, so that a case can send a text that is not JSON.
                    Some("json") => (status, headers, Payload::Json(string(text).into())).into_outcome(),
                    _ => (status, headers, string(text)).into_outcome(),
                }
            }
            ("throw", [status]) => {
                let failure = Failure::new(number(status).expect("a status"), string(text));
                with_details(failure, program).into_outcome()
            }
            ("raise", []) => raised(run.panic.take().unwrap_or_else(|| string(text))).into_outcome(),
            ("deferred", []) => Outcome::Deferred,
            ("keep", []) => {
                run.keep();
                Outcome::Deferred
            }
            other => panic!("a handler cannot end with {other:?}"),
        }
    }

    /// Runs the program of a listener.
    pub async fn deliver(program: &'static Value, delivery: Delivery<F>, payload: Payload) -> Result<Payload, Failure> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        let mut run = Self::begin(program);
        run.delivery = Some(ListenerDelivery::Own(delivery));
        run.content_type = payload.content_type().to_owned();
        run.text = payload.into_data();
        run.steps().await;
        let text = take(&mut run.text);
        match end(program) {
            ("reply", _) => Ok(payload_of(JSON, text)),
            ("result", [content_type]) => Ok(Payload::Bytes {
                content_type: content_type.as_str().expect("a content type").into(),
                data: text,
            }),
            ("fail", [code, status]) => {
                let code = code.as_str().expect("a code");
                let failure = Failure::with_code(code, number(status).expect("a status"), string(text));
                Err(with_details(failure, program))
            }
            ("raise", []) => Err(raised(run.panic.take().unwrap_or_else(|| string(text)))),
            ("deferred", []) => Ok(Payload::null()),
            ("keep", []) => {
                run.keep();
                Ok(Payload::null())
            }
            other => panic!("a listener cannot end with {other:?}"),
        }
    }

    /// Runs steps that need neither request nor event.
    pub async fn without_request(steps: &'static Value) {
        let mut run = Self::begin(&Value::Null);
        for step in list(steps) {
            run.step(step).await;
        }
    }

    fn begin(program: &'static Value) -> Self {
        Self {
            program,
            text: Vec::new(),
            context: None,
            delivery: None,
            content_type: String::new(),
            writer: None,
            panic: Some("a trap on purpose".to_owned()),
        }
    }

    /// Runs the steps, and the ends that never return.
    async fn steps(&mut self) {
        for step in list(&self.program["steps"]) {
            Box::pin(self.step(step)).await;
        }
        match end(self.program).0 {
            "trap" => match self.panic.take() {
                Some(message) => panic!("{message}"),
                None => surroundings::trap(),
            },
            "loop" => surroundings::spin(),
            "hog" => {
                let mut all = Vec::new();
                loop {
                    all.push(vec![1_u8; 65528]);
                }
            }
            "overflow" => {
                overflow(1);
            }
            _ => {}
        }
    }

    /// Never drops the context and the delivery.
    fn keep(self) {
        forget(self);
    }

    fn ctx(&self) -> &Context<F> {
        self.context.as_ref().expect("a context; take it first")
    }

    fn delivery(&self) -> &Delivery<F> {
        self.delivery
            .as_ref()
            .expect("a delivery, which a handler does not have")
            .get()
    }

    fn say(&mut self, text: impl Display) {
        write!(self.text, "{text}").expect("a vector grows");
    }

    fn say_option(&mut self, text: Option<String>) {
        self.say(text.as_deref().unwrap_or(NONE));
    }

    fn say_pair(&mut self, name: &str, value: &[u8]) {
        self.text.extend([name.as_bytes(), b"=", value, b"\n"].concat());
    }

    /// The text, which is empty from now on.
    fn take_text(&mut self) -> String {
        string(take(&mut self.text))
    }

    /// Makes the result of a function of the host the text, and returns its value.
    fn tried<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.text = format!("failed {}", failure.code()).into();
                None
            }
        }
    }

    fn sent(&mut self, result: Result<(), Failure>) {
        if self.tried(result).is_some() {
            self.text = b"sent".into();
        }
    }

    async fn step(&mut self, step: &'static Value) {
        let (name, arguments) = split(step);
        match (name, arguments) {
            ("say", [text]) => self.say(text.as_str().expect("a text")),
            ("double", [times]) => {
                for _ in 0..times.as_u64().expect("a number") {
                    self.text.extend_from_within(..);
                }
            }
            ("each", [steps]) => {
                let text = self.text.clone();
                for step in list(steps) {
                    self.text.clone_from(&text);
                    Box::pin(self.step(step)).await;
                }
            }
            ("body", []) => {
                let body = F::body(self.ctx()).await;
                if let Some(body) = self.tried(body) {
                    self.text.extend(body);
                }
            }
            ("body-text", []) => {
                let text = F::text(self.ctx()).await;
                if let Some(text) = self.tried(text) {
                    self.say(text);
                }
            }
            ("call", [event, content_type]) => {
                self.call(
                    event.as_str().expect("an event"),
                    content_type.as_str().expect("a type"),
                )
                .await;
            }
            ("call-bytes", [name]) => {
                let name: &'static [u8] = bytes(name).leak();
                // SAFETY: the SDK passes the name to the host unread.
                self.call(unsafe { from_utf8_unchecked(name) }, JSON).await;
            }
            ("stream", [status, texts, order]) => {
                let order = list(order)
                    .iter()
                    .map(|number| number.as_u64().expect("a number") as usize);
                let chunks = order.map(|number| texts[number].as_str().expect("a text").into());
                self.stream(status, chunks).await;
            }
            ("stream-text", [status]) => {
                let text = take(&mut self.text);
                self.stream(status, [text].into_iter()).await;
            }
            ("finish", []) => {
                if let Some(writer) = self.writer.take() {
                    // A client that has left ends no program.
                    let _ = F::finish(writer).await;
                }
            }
            ("echo", []) => {
                let echoed = self.echo().await;
                if self.tried(echoed).is_some() {
                    self.text.clear();
                }
            }
            _ => self.step_that_is_done(name, arguments),
        }
    }

    /// Runs a step that does not wait.
    fn step_that_is_done(&mut self, name: &str, arguments: &'static [Value]) {
        match (name, arguments) {
            ("method", []) => self.say(self.ctx().method()),
            ("path", []) => self.say(self.ctx().path()),
            ("query", []) => self.say_option(self.ctx().query()),
            ("scheme", []) => self.say(self.ctx().scheme()),
            ("authority", []) => self.say_option(self.ctx().authority()),
            ("http-version", []) => self.say(self.ctx().http_version()),
            ("remote-address", []) => self.say_option(self.ctx().remote_address()),
            ("received-at", []) => self.say(seconds(self.ctx().received_at())),
            ("deadline", []) => {
                let deadline = match &self.delivery {
                    Some(delivery) => delivery.get().deadline(),
                    None => self.ctx().deadline(),
                };
                self.say_option(deadline.map(|deadline| seconds(deadline).to_string()));
            }
            ("cancelled", []) => {
                let is_cancelled = match &self.delivery {
                    Some(delivery) => delivery.get().is_cancelled(),
                    None => self.ctx().is_cancelled(),
                };
                self.say(if is_cancelled { "cancelled" } else { "" });
            }
            ("request-id", []) => match &self.delivery {
                Some(delivery) => self.say_option(delivery.get().request_id()),
                None => self.say(self.ctx().request_id()),
            },
            ("route", []) => self.say(self.ctx().route()),
            ("params", []) => {
                for (name, value) in self.ctx().params() {
                    self.say_pair(&name, value.as_bytes());
                }
            }
            ("headers", []) => {
                for (name, value) in self.ctx().headers() {
                    self.say_pair(&name, &value);
                }
            }
            ("count", []) => self.say(RUNS.load(Ordering::Relaxed)),
            ("send", [status, with]) => {
                let reply = Reply::new(number(status).expect("a status")).text(self.take_text());
                let sent = self.ctx().send(headers(with).add_to(reply));
                self.sent(sent);
            }
            ("throw-now", [status]) => {
                let failure = Failure::new(number(status).expect("a status"), self.take_text());
                let sent = self.ctx().send(failure);
                self.sent(sent);
            }
            ("take-context", []) => {
                self.context = self.delivery().take_context();
                if self.context.is_none() {
                    self.text = NONE.into();
                }
            }
            ("event-name", []) => self.say(self.delivery().event()),
            ("payload-type", []) => self.text.extend(self.content_type.as_bytes()),
            ("event-id", []) => self.say(self.delivery().id()),
            ("attempt", []) => self.say(self.delivery().attempt()),
            ("use-first-delivery", []) => self.use_first_delivery(),
            (name, [argument, ..]) if argument.is_string() => {
                self.step_with_name(name, argument.as_str().unwrap_or_default(), &arguments[1..]);
            }
            _ => self.step_without_request(name, arguments),
        }
    }

    /// Runs a step with a name of a parameter, a header, an extension or an event.
    fn step_with_name(&mut self, step: &str, name: &'static str, rest: &'static [Value]) {
        match step {
            "param" => self.say_option(self.ctx().param(name)),
            "header" => self.say_option(self.ctx().header(name)),
            "extension" => self.say_option(self.ctx().extension(name)),
            "set-extension" => {
                let text = self.take_text();
                self.ctx().set_extension(name, &text);
            }
            "emit" => {
                let payload = payload_of(JSON, take(&mut self.text));
                match &self.delivery {
                    Some(delivery) => emit_named_from(delivery.get(), name, payload),
                    None => emit_named(self.ctx(), name, payload),
                }
            }
            "hand-over" => {
                let payload = payload_of(JSON, take(&mut self.text));
                let context = self.context.take().expect("a context; take it first");
                let handed = hand_over_named(context, name, payload);
                self.tried(handed);
            }
            "log-from" => {
                let text = self.take_text();
                log::write(log::Level::Info, name, format_args!("{text}"), &[]);
            }
            "panicked" => {
                self.panic = None;
                surroundings::report_panic(self.take_text(), name, rest);
            }
            "raised" => surroundings::report_exception(self.take_text(), name, rest),
            _ => panic!("there is no step `{step}` with a name"),
        }
    }

    /// Runs a step that needs neither request nor event.
    fn step_without_request(&mut self, name: &str, arguments: &'static [Value]) {
        match (name, arguments) {
            ("now", []) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                self.say(format_args!("{} {}", now.as_secs(), now.subsec_nanos()));
            }
            ("monotonic", []) => self.say(surroundings::monotonic()),
            ("random", []) => self.say(surroundings::random()),
            ("variables", []) => {
                for (name, value) in std::env::vars() {
                    self.say_pair(&name, value.as_bytes());
                }
            }
            // Flushed at once, so that the program traps behind its output.
            ("print", []) => print(&mut stdout(), &take(&mut self.text)),
            ("print-error", []) => print(&mut stderr(), &take(&mut self.text)),
            ("log", [fields]) => {
                let text = self.take_text();
                if list(fields).is_empty() {
                    log::write(log::Level::Info, "synthetic", format_args!("{text}"), &[]);
                } else {
                    surroundings::log_with(&text, fields);
                }
            }
            ("panicked", []) => self.panic = Some(self.take_text()),
            other => panic!("there is no step {other:?}"),
        }
    }

    async fn call(&mut self, event: &'static str, content_type: &'static str) {
        let payload = payload_of(content_type, take(&mut self.text));
        let called = match &self.delivery {
            Some(delivery) => F::call_named_from(delivery.get(), event, payload).await,
            None => F::call_named(self.ctx(), event, payload).await,
        };
        self.text = match called {
            Ok(payload) => payload.into_data(),
            Err(failure) => format!("failed {}: {}", failure.code(), failure.message()).into(),
        };
    }

    /// Opens a reply and writes chunks. A client that has left ends no program.
    async fn stream(&mut self, status: &Value, chunks: impl Iterator<Item = Vec<u8>>) {
        let opened = self.ctx().open_reply(Reply::new(number(status).expect("a status")));
        let Some(writer) = self.tried(opened) else { return };
        for chunk in chunks {
            // A client that has left gets no further chunk.
            if F::write(&writer, chunk).await.is_err() {
                break;
            }
        }
        self.writer = Some(writer);
    }

    async fn echo(&self) -> Result<(), Failure> {
        let reader = self.ctx().open_body()?;
        let writer = self.ctx().open_reply(Reply::new(200_u16))?;
        while let Some(chunk) = F::read(&reader, CHUNK).await? {
            F::write(&writer, chunk).await?;
        }
        F::finish(writer).await
    }

    /// Puts the first delivery of the instance in the place of the listener's own.
    fn use_first_delivery(&mut self) {
        thread_local! {
            static FIRST: Cell<Option<&'static dyn Any>> = const { Cell::new(None) };
        }
        let Some(ListenerDelivery::Own(own)) = self.delivery.take() else {
            panic!("a delivery of its own");
        };
        let first = match FIRST.get() {
            Some(first) => {
                forget(own);
                first
            }
            None => {
                let first: &'static dyn Any = Box::leak(Box::new(own));
                FIRST.set(Some(first));
                first
            }
        };
        let first = first
            .downcast_ref()
            .expect("all deliveries have the form of the module");
        self.delivery = Some(ListenerDelivery::First(first));
    }
}

/// The name of a step or an end, and its arguments.
fn split(of: &'static Value) -> (&'static str, &'static [Value]) {
    match list(of) {
        [Value::String(name), arguments @ ..] => (name, arguments),
        _ => panic!("the suite writes a list that begins with a name"),
    }
}

/// Without an end, a program replies with its text.
fn end(program: &'static Value) -> (&'static str, &'static [Value]) {
    if program["end"].is_null() {
        ("reply", &[Value::Null])
    } else {
        split(&program["end"])
    }
}

fn string(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("the text is UTF-8")
}

/// A status.
fn number(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|number| number.try_into().ok())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The bytes of a text that has a character for each byte.
fn bytes(text: &Value) -> Vec<u8> {
    let byte = |character| u8::try_from(character).expect("a character for each byte");
    text.as_str().expect("a text").chars().map(byte).collect()
}

/// Pairs of a name and a value, which has a character for each byte.
fn headers(pairs: &Value) -> Vec<(String, Vec<u8>)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let pairs = list(pairs).iter();
    pairs.map(|pair| (text(&pair[0]), bytes(&pair[1]))).collect()
}

/// A payload of that type; an empty text of the type JSON becomes `null`.
fn payload_of(content_type: &'static str, text: Vec<u8>) -> Payload {
    if content_type == JSON && text.is_empty() {
        Payload::null()
    } else {
        Payload::new(content_type, text)
    }
}

fn raw_header((name, value): (String, Vec<u8>)) -> types::Header {
    types::Header { name, value }
}

/// Whether the headers and details of a program reach the host without the checks of the SDK.
fn is_unchecked(program: &Value) -> bool {
    program["bytes"] == true
}

/// The failure with the headers and details of a program.
/// Reports an exception as an SDK with exceptions does, and returns the failure of the call.
fn raised(message: String) -> Failure {
    surroundings::report_exception(message, "Error", &[]);
    Failure::new(500_u16, "internal error")
}

fn with_details(mut failure: Failure, program: &Value) -> Failure {
    let (headers, details) = (headers(&program["headers"]), &program["details"]);
    if is_unchecked(program) {
        return Failure::from(types::Failure {
            headers: headers.into_iter().map(raw_header).collect(),
            details: details.as_str().map(str::to_owned),
            ..failure.into()
        });
    }
    for (name, value) in headers {
        failure = failure.header(name, value);
    }
    for (name, value) in details.as_object().into_iter().flatten() {
        failure = failure.detail(name, value);
    }
    failure
}

fn print(stream: &mut impl std::io::Write, text: &[u8]) {
    stream
        .write_all(text)
        .and_then(|()| stream.flush())
        .expect("the host takes output");
}

/// Calls itself until the stack overflows. The rotation after the call keeps the compiler from making the recursion a loop, and the
/// volatile read from seeing that the result does not depend on the depth.
#[expect(unconditional_recursion, reason = "the stack overflows on purpose")]
#[inline(never)]
fn overflow(depth: u32) -> u32 {
    static STEP: u32 = 1;
    // SAFETY: the pointer is of a static.
    overflow(depth + unsafe { read_volatile(&STEP) }).rotate_left(depth)
}
