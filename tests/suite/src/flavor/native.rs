//! Runs the program of a listener in the host application instead of a guest.

use std::sync::Arc;

use bytes::Bytes;
use pointwork_core::http::{HeaderName, HeaderValue, Response, StatusCode};
use pointwork_core::{Body, BodyWriter, Context, Delivery, Failure, FailureCode, JSON, Listener, Payload};

use crate::guest::{End, Program, Step};

/// A native listener that runs the program as a guest would.
///
/// # Panics
/// When it runs, at a step that only handlers or only guests have: the test is wrong.
pub(crate) fn listener(program: Program) -> impl Listener {
    let program = Arc::new(program);
    move |delivery: Delivery, payload: Payload| {
        let program = program.clone();
        async move { Run::new(delivery, payload).run(&program).await }
    }
}

/// The state of a running listener.
struct Run {
    delivery: Delivery,
    content_type: String,
    text: Vec<u8>,
    context: Option<Context>,
    writer: Option<BodyWriter>,
}

impl Run {
    fn new(delivery: Delivery, payload: Payload) -> Self {
        Self {
            delivery,
            content_type: payload.content_type().to_owned(),
            text: payload.into_data(),
            context: None,
            writer: None,
        }
    }

    async fn run(mut self, program: &Program) -> Result<Payload, Failure> {
        for step in &program.steps {
            self.step(step).await;
        }
        match program.end {
            End::Reply(_) => Ok(self.payload(JSON)),
            End::Result(content_type) => Ok(Payload::new(content_type, self.text)),
            End::Fail(code, status) => Err(Failure::with_code(
                FailureCode::new(code),
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                String::from_utf8_lossy(&self.text),
            )),
            End::Deferred => Ok(Payload::null()),
            End::Keep => {
                std::mem::forget((self.context, self.delivery));
                Ok(Payload::null())
            }
            End::Trap => panic!("a panic on purpose"),
            other => panic!("a native listener cannot end with {other:?}"),
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Say(text) => self.say(text),
            Step::EventName => self.text.extend_from_slice(self.delivery.event().as_bytes()),
            Step::PayloadType => self.text.extend_from_slice(self.content_type.as_bytes()),
            Step::RequestId => {
                let id = self.delivery.request_id().map(ToString::to_string);
                self.say(id.as_deref().unwrap_or("(none)"));
            }
            Step::Param(name) => {
                let value = self.context().param(name).map(str::to_owned);
                self.say(value.as_deref().unwrap_or("(none)"));
            }
            Step::Path => {
                let path = self.context().path().to_owned();
                self.say(&path);
            }
            Step::Call(event) => self.call(event, JSON).await,
            Step::CallAs(event, content_type) => self.call(event, content_type).await,
            Step::Emit(event) => {
                let payload = self.payload(JSON);
                self.delivery.caller().emit_raw(event, payload);
                self.text.clear();
            }
            Step::TakeContext => match self.delivery.take_context() {
                Some(context) => self.context = Some(context),
                None => self.text = b"(none)".to_vec(),
            },
            Step::HandOver(event) => {
                let payload = self.payload(JSON);
                let context = self.context.take().expect("a context to hand over");
                self.text = failed(context.hand_over_raw(event, payload), "");
            }
            Step::Send(status) => self.send(*status, &[]),
            Step::SendWith(status, headers) => self.send(*status, headers),
            Step::ThrowNow(status) => {
                let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let failure = Failure::new(status, String::from_utf8_lossy(&self.text));
                self.text = failed(self.context().send(failure), "sent");
            }
            Step::Stream(status, chunks) => self.stream(*status, chunks).await,
            Step::Finish => {
                if let Some(writer) = self.writer.take() {
                    // A client that is gone does not fail this step; in a guest neither.
                    let _ = writer.finish().await;
                }
            }
            other => panic!("a native listener has no step {other:?}"),
        }
    }

    fn say(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn context(&self) -> &Context {
        self.context.as_ref().expect("a context; take it first")
    }

    fn payload(&self, content_type: &'static str) -> Payload {
        if self.text.is_empty() {
            Payload::null()
        } else {
            Payload::new(content_type, self.text.clone())
        }
    }

    async fn call(&mut self, event: &str, content_type: &'static str) {
        let payload = self.payload(content_type);
        self.text = match self.delivery.caller().call_raw(event, payload).await {
            Ok(result) => result.data().to_vec(),
            Err(failure) => format!("failed {}: {}", failure.code(), failure.message()).into(),
        };
    }

    fn send(&mut self, status: u16, headers: &[(String, Vec<u8>)]) {
        let sent = reply(status, headers, self.text.clone()).and_then(|reply| self.context().send(reply));
        self.text = failed(sent, "sent");
    }

    async fn stream(&mut self, status: u16, chunks: &[String]) {
        let head = reply(status, &[], Vec::new()).map(|reply| reply.map(drop));
        match head.and_then(|head| self.context().open_reply(head)) {
            Ok(mut writer) => {
                for chunk in chunks {
                    let _ = writer.write(chunk.clone()).await;
                }
                self.writer = Some(writer);
            }
            Err(failure) => self.text = failed(Err(failure), ""),
        }
    }
}

/// A text reply. The host refuses an invalid one as it does for a guest.
fn reply(status: u16, headers: &[(String, Vec<u8>)], text: Vec<u8>) -> Result<Response<Body>, Failure> {
    let invalid = || {
        Failure::with_code(
            FailureCode::INVALID_REPLY,
            StatusCode::INTERNAL_SERVER_ERROR,
            "the reply is invalid",
        )
    };
    let mut reply = Response::new(Body::from(Bytes::from(text)));
    *reply.status_mut() = StatusCode::from_u16(status).map_err(|_| invalid())?;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert("content-type", text);
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(value).map_err(|_| invalid())?;
        reply.headers_mut().append(name, value);
    }
    Ok(reply)
}

fn failed(result: Result<(), Failure>, otherwise: &str) -> Vec<u8> {
    match result {
        Ok(()) => otherwise.into(),
        Err(failure) => format!("failed {}", failure.code()).into(),
    }
}

/// See [`words`](super::words).
pub(super) fn words(program: &Program) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut add = |name: &str, arguments: &[&[u8]]| {
        words.push(name.as_bytes().to_vec());
        words.push(arguments.len().to_string().into_bytes());
        words.extend(arguments.iter().map(|argument| argument.to_vec()));
    };
    for step in &program.steps {
        match step {
            Step::Say(text) => add("say", &[text.as_bytes()]),
            Step::EventName => add("event-name", &[]),
            Step::PayloadType => add("payload-type", &[]),
            Step::RequestId => add("request-id", &[]),
            Step::Param(name) => add("param", &[name.as_bytes()]),
            Step::Path => add("path", &[]),
            Step::Call(event) => add("call", &[event.as_bytes(), JSON.as_bytes()]),
            Step::CallAs(event, content_type) => add("call", &[event.as_bytes(), content_type.as_bytes()]),
            Step::Emit(event) => add("emit", &[event.as_bytes()]),
            Step::TakeContext => add("take", &[]),
            Step::HandOver(event) => add("hand-over", &[event.as_bytes()]),
            Step::Send(status) => add("send", &[status.to_string().as_bytes()]),
            Step::SendWith(status, headers) => {
                let status = status.to_string();
                let headers = headers.iter().flat_map(|(name, value)| [name.as_bytes(), value]);
                add(
                    "send",
                    &[status.as_bytes()].into_iter().chain(headers).collect::<Vec<_>>(),
                );
            }
            Step::ThrowNow(status) => add("throw", &[status.to_string().as_bytes()]),
            Step::Stream(status, chunks) => {
                let status = status.to_string();
                let chunks = chunks.iter().map(String::as_bytes);
                add(
                    "stream",
                    &[status.as_bytes()].into_iter().chain(chunks).collect::<Vec<_>>(),
                );
            }
            Step::Finish => add("finish", &[]),
            other => panic!("a native listener has no step {other:?}"),
        }
    }
    match program.end {
        End::Reply(_) => add("value", &[JSON.as_bytes()]),
        End::Result(content_type) => add("result", &[content_type.as_bytes()]),
        End::Fail(code, status) => add("fail", &[code.as_bytes(), status.to_string().as_bytes()]),
        End::Deferred => add("done", &[]),
        End::Keep => add("keep", &[]),
        End::Trap => add("trap", &[]),
        other => panic!("a native listener cannot end with {other:?}"),
    }
    words
}
