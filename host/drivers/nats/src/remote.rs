//! The driver `nats`: calls to listeners in other processes.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::{Request, RequestErrorKind};
use pointwork_core::{BoxFuture, Delivery, Failure, FailureCode, Listener, Payload, RecordedEvent, Timers};
use tokio_util::context::TokioContext;

use crate::connection::{Connection, timers};
use crate::envelope;
use crate::names::Names;

/// The time for a call without a deadline.
const LONGEST: Duration = Duration::from_secs(30);

/// Sends the events of a channel to whatever process [serves](Connection::serve) the channel. A call is a request with the time that
/// its chain has left, and is never sent twice.
///
/// Beside the failures of the listener itself, it fails with `unreachable` (503) without a connection or a process that serves the
/// channel, with `deadline` (504) without an answer in time, when the listener may have run, and with `too-large` (413) for a payload
/// over the limit of the server.
#[derive(Debug)]
pub struct RemoteListener {
    connection: Connection,
    channel: Arc<str>,
}

impl Connection {
    /// A listener to any event of the channel.
    pub fn listener(&self, channel: &str) -> RemoteListener {
        RemoteListener {
            connection: self.clone(),
            channel: channel.into(),
        }
    }
}

impl Listener for RemoteListener {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let call = RecordedEvent {
            id: delivery.id(),
            channel: self.channel.clone(),
            event: delivery.event().to_owned(),
            payload,
            depth: delivery.caller().chain().depth(),
            request_id: delivery.request_id().map(ToString::to_string),
            traceparent: delivery.caller().traceparent(),
            partition: 0,
        };
        let (deadline, timers) = (delivery.deadline(), timers(delivery.caller().clock()));
        let left = deadline.map_or(LONGEST, |deadline| deadline.saturating_duration_since(timers.now()));
        let runtime = self.connection.runtime.clone();
        let request = request(self.connection.clone(), call, timers, left);
        Box::pin(TokioContext::new(request, runtime))
    }

    fn is_remote(&self) -> bool {
        true
    }
}

async fn request(
    connection: Connection,
    call: RecordedEvent,
    timers: Timers,
    left: Duration,
) -> Result<Payload, Failure> {
    let fail = |code, why: String| Err(Failure::of(code, format!("`{}:{}` {why}", call.channel, call.event)));
    let unreachable = |why: String| fail(FailureCode::UNREACHABLE, why);
    // What is sent without a connection would go out later.
    if !connection.is_connected() {
        return unreachable("cannot be reached: no server of NATS is connected".to_owned());
    }
    let subject = Names::new(&connection.prefix, &call.channel).call(&call.event);
    let request = Request::new()
        .headers(envelope::call_headers(&call, left))
        .payload(call.payload.data().to_vec().into())
        .timeout(None);
    let answer = timers.timeout(left, connection.client.send_request(subject, request));
    let error = match answer.await {
        Some(Ok(answer)) => return envelope::answered(&answer.headers.unwrap_or_default(), answer.payload),
        Some(Err(error)) => error,
        None => {
            let why = "was not answered in time; its listener may have run".to_owned();
            return fail(FailureCode::DEADLINE, why);
        }
    };
    match error.kind() {
        RequestErrorKind::NoResponders => unreachable("cannot be reached: no process serves its channel".to_owned()),
        RequestErrorKind::MaxPayloadExceeded => {
            let why = format!("is too large for NATS: {error}");
            fail(FailureCode::TOO_LARGE, why)
        }
        _ => unreachable(format!("cannot be reached: {error}")),
    }
}
