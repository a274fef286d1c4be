//! One request, as a guest sees it: the interfaces `context`, `context-sync` and `context-async`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::Version;
use pointwork_core::{
    BodyMode, BodyReader, Charge, Context, Crash, CrashKind, Failure, FailureCode, IntoReply, Outcome, one_line,
};
use tokio::sync::Mutex;
use tracing::Instrument;
use wasmtime::Result;
use wasmtime::component::{Access, Accessor, GuestTaskId, HasSelf, Resource};

use super::Guest;
use super::body::{OpenReply, Reader, Writer};
use super::spans::{running_task, task_of_code};
use super::stream_permits::StreamPermit;
use crate::guest::bindings::{context, context_async, context_sync, types};
use crate::guest::instant::{at, by_system_clock};
use crate::guest::limiter::Exceeded;
use crate::guest::memory::{EXTENSION, NoRoom, size_of_event};
use crate::guest::payload::{payload_in, result_out};
use crate::guest::reply::{
    failed, failure_out, header_out, headers_out, no_room, overloaded, reply_in, response_head, thrown_in,
};

/// The prefix of the extensions that only the host sets.
const RESERVED: &str = "pointwork.";

impl Guest {
    fn context(&self, context: &Resource<Context>) -> Result<&Context> {
        Ok(self.table.get(context)?)
    }

    /// The result of reading the request body, for the guest. The call of the task, or the only one, notes a failure.
    fn has_read<T>(&mut self, task: Option<GuestTaskId>, result: Result<T, Failure>) -> Result<T, types::Failure> {
        let task = self.place_of(task);
        self.state(task).has_read(&result);
        result.map_err(failure_out)
    }

    fn send_outcome(
        &self,
        context: &Resource<Context>,
        outcome: Result<Outcome, Failure>,
    ) -> Result<Result<(), types::Failure>> {
        let context = self.context(context)?;
        let sent = match outcome {
            Ok(Outcome::Reply(reply)) => match self.keep_reply(reply)? {
                Ok(reply) => context.send(reply),
                Err(cause) => {
                    context.crash(no_room(cause));
                    Err(overloaded(cause.exceeded()))
                }
            },
            Ok(other) => context.send(other),
            Err(refused) => Err(refused),
        };
        Ok(sent.map_err(failure_out))
    }

    /// A slot for a call that is about to wait for a request body, if it has none: its context was handed over. Calls that
    /// share an instance need none: one that waits holds up no other.
    async fn slot_to_read(&mut self, context: &Resource<Context>) -> Result<Result<(), Failure>> {
        if self.shares || self.context(context)?.body_mode() != BodyMode::Stream {
            return Ok(Ok(()));
        }
        self.slot_of_call(context).await
    }

    /// A slot for a call that is about to wait for a client that reads. Calls that share an instance do not wait for it,
    /// which would hold up the others, and the writer keeps it.
    async fn slot_to_write(&mut self, context: &Resource<Context>) -> Result<Result<Option<StreamPermit>, Failure>> {
        if !self.shares {
            return Ok(self.slot_of_call(context).await?.map(|()| None));
        }
        if self.context(context)?.body_mode() == BodyMode::Stream {
            // The call of the handler has one.
            return Ok(Ok(None));
        }
        match self.streams.try_take() {
            Ok(slot) => Ok(Ok(Some(slot))),
            Err(_) => Ok(Err(self.busy(context)?)),
        }
    }

    async fn slot_of_call(&mut self, context: &Resource<Context>) -> Result<Result<(), Failure>> {
        if self.slot.is_none() {
            if let Some(history) = &self.history {
                history.streamed();
            }
            match self.streams.take().await {
                Ok(slot) => self.slot = Some(slot),
                Err(_) => return Ok(Err(self.busy(context)?)),
            }
        }
        Ok(Ok(()))
    }

    fn busy(&self, context: &Resource<Context>) -> Result<Failure> {
        let caller = self.context(context)?.caller();
        Ok(self.streams.busy(&self.module, caller))
    }
}

/// Lets a guest wait for something as long as somebody waits for its reply. A call of the asynchronous form cannot be
/// ended from outside without its neighbours; one that waits for nothing any more ends by itself.
async fn unless_gone<T>(context: Context, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut work = pin!(work);
    let mut gone = None;
    poll_fn(|cx| {
        if let Poll::Ready(result) = work.as_mut().poll(cx) {
            return Poll::Ready(result);
        }
        let gone = gone.get_or_insert_with(|| Box::pin(context.gone()));
        gone.as_mut()
            .poll(cx)
            .map(|()| Err(failed(FailureCode::GONE, "nobody waits for the reply any more")))
    })
    .await
}

/// Ends the one request of several in an instance that went past a limit of the module's.
fn overspent(context: &Context, exceeded: Exceeded) -> Failure {
    let crash = Crash::new(CrashKind::Trap, exceeded.to_string()).at_limit(exceeded.limit);
    context.crash(crash);
    overloaded(exceeded)
}

async fn read(reader: Arc<Mutex<BodyReader>>, max: u32) -> Result<Option<Bytes>, Failure> {
    reader.lock().await.read(max as usize).await
}

/// The context of a call that reads its body, and the task of the call.
fn reading<T: Send + 'static>(
    accessor: &Accessor<T, HasSelf<Guest>>,
    context: &Resource<Context>,
) -> Result<(Context, Option<GuestTaskId>)> {
    accessor.with(|mut access| {
        let task = task_of_code(&mut access)?;
        Ok((access.get().context(context)?.clone(), task))
    })
}

async fn write(writer: Arc<Mutex<Option<OpenReply>>>, chunk: Result<Bytes, NoRoom>) -> Result<(), types::Failure> {
    let mut writer = writer.lock().await;
    match (&mut *writer, chunk) {
        (Some(open), Ok(chunk)) => open.writer.write(chunk).await.map_err(failure_out),
        (Some(open), Err(cause)) => {
            open.caller.report(no_room(cause));
            // The reply breaks off: it would lack the chunk.
            *writer = None;
            Err(failure_out(overloaded(cause.exceeded())))
        }
        (None, _) => Err(finished()),
    }
}

async fn finish(writer: Arc<Mutex<Option<OpenReply>>>) -> Result<(), types::Failure> {
    let open = writer.lock().await.take();
    match open {
        Some(OpenReply { writer, _slot, .. }) => writer.finish().await.map_err(failure_out),
        None => Err(finished()),
    }
}

fn finished() -> types::Failure {
    failure_out(failed(FailureCode::GONE, "the reply is finished"))
}

impl context::Host for Guest {}

impl<T: Send + 'static> context::HostWithStore<T> for HasSelf<Guest> {
    fn hand_over(
        mut access: Access<'_, T, Self>,
        event: String,
        context: Resource<Context>,
        payload: types::Payload,
    ) -> Result<Result<(), types::Failure>> {
        let task = running_task(&mut access)?;
        let guest = access.get();
        let running = guest.caller_of(task);
        let context = guest.table.delete(context)?.in_call(running.as_ref());
        if let Some(exceeded) = guest.spend_emit(task, &event)? {
            return Ok(Err(failure_out(overspent(&context, exceeded))));
        }
        Ok(match guest.charge(size_of_event(&event, &payload))? {
            Ok(charge) => context.hand_over_charged(&event, payload_in(payload), charge),
            Err(exceeded) => Err(overspent(&context, exceeded)),
        }
        .map_err(failure_out))
    }
}

impl<T: Send + 'static> context::HostContextWithStore<T> for HasSelf<Guest> {
    fn emit(
        mut access: Access<'_, T, Self>,
        this: Resource<Context>,
        event: String,
        payload: types::Payload,
    ) -> Result<()> {
        let task = running_task(&mut access)?;
        let guest = access.get();
        let spent = guest.spend_emit(task, &event)?;
        let running = guest.caller_of(task);
        let context = guest.context(&this)?;
        if let Some(exceeded) = spent {
            overspent(context, exceeded);
            return Ok(());
        }
        match guest.charge(size_of_event(&event, &payload))? {
            Ok(charge) => {
                let caller = context.caller().deeper(running.as_ref());
                caller.emit_charged(&event, payload_in(payload), charge);
            }
            Err(exceeded) => drop(overspent(context, exceeded)),
        }
        Ok(())
    }
}

impl context::HostContext for Guest {
    fn method(&mut self, this: Resource<Context>) -> Result<String> {
        Ok(self.context(&this)?.method().as_str().to_owned())
    }

    fn path(&mut self, this: Resource<Context>) -> Result<String> {
        Ok(self.context(&this)?.path().to_owned())
    }

    fn query(&mut self, this: Resource<Context>) -> Result<Option<String>> {
        Ok(self.context(&this)?.query().map(str::to_owned))
    }

    fn scheme(&mut self, this: Resource<Context>) -> Result<String> {
        Ok(self.context(&this)?.scheme().to_owned())
    }

    fn authority(&mut self, this: Resource<Context>) -> Result<Option<String>> {
        Ok(self.context(&this)?.authority().map(str::to_owned))
    }

    fn http_version(&mut self, this: Resource<Context>) -> Result<String> {
        let version = match self.context(&this)?.http_version() {
            Version::HTTP_09 => "0.9",
            Version::HTTP_10 => "1.0",
            Version::HTTP_2 => "2",
            Version::HTTP_3 => "3",
            _ => "1.1",
        };
        Ok(version.to_owned())
    }

    fn remote_address(&mut self, this: Resource<Context>) -> Result<Option<String>> {
        Ok(self.context(&this)?.remote_address())
    }

    fn received_at(&mut self, this: Resource<Context>) -> Result<context::Instant> {
        let arrived = self.context(&this)?.arrived();
        Ok(at(Guest::received_at(self, arrived)))
    }

    fn deadline(&mut self, this: Resource<Context>) -> Result<Option<context::Instant>> {
        Ok(self.context(&this)?.deadline().map(by_system_clock).map(at))
    }

    fn cancelled(&mut self, this: Resource<Context>) -> Result<bool> {
        Ok(self.context(&this)?.is_cancelled())
    }

    fn param(&mut self, this: Resource<Context>, name: String) -> Result<Option<String>> {
        Ok(self.context(&this)?.param(&name).map(str::to_owned))
    }

    fn params(&mut self, this: Resource<Context>) -> Result<Vec<types::Property>> {
        let params = self.context(&this)?.params().iter();
        Ok(params
            .map(|(name, value)| types::Property {
                name: name.to_owned(),
                value: value.to_owned(),
            })
            .collect())
    }

    fn header(&mut self, this: Resource<Context>, name: String) -> Result<Option<String>> {
        Ok(self.context(&this)?.headers().get(name.as_str()).map(header_out))
    }

    fn headers(&mut self, this: Resource<Context>) -> Result<Vec<types::Header>> {
        Ok(headers_out(self.context(&this)?.headers()))
    }

    fn request_id(&mut self, this: Resource<Context>) -> Result<String> {
        Ok(self.context(&this)?.request_id().to_string())
    }

    fn route(&mut self, this: Resource<Context>) -> Result<String> {
        Ok(self.context(&this)?.route().path.clone())
    }

    fn extension(&mut self, this: Resource<Context>, key: String) -> Result<Option<String>> {
        Ok(self.context(&this)?.extension(&key))
    }

    fn set_extension(&mut self, this: Resource<Context>, key: String, value: String) -> Result<()> {
        if !key.starts_with(RESERVED) {
            let context = self.context(&this)?;
            match self.charge(EXTENSION + key.len() + value.len())? {
                Ok(charge) => context.set_extension_charged(&key, value, charge),
                Err(exceeded) => drop(overspent(context, exceeded)),
            }
        } else if self.lines.spend(&self.module)?.is_none() {
            let key = one_line(&key, 128);
            tracing::warn!(
                module = &*self.module,
                "the extension `{key}` is ignored: keys that begin with `{RESERVED}` are the host's"
            );
        }
        Ok(())
    }

    async fn open_body(&mut self, this: Resource<Context>) -> Result<Result<Resource<Reader>, types::Failure>> {
        if let Err(busy) = self.slot_to_read(&this).await? {
            return Ok(Err(failure_out(busy)));
        }
        match self.context(&this)?.open_body() {
            Ok(reader) => Ok(Ok(self.table.push(Reader::new(reader))?)),
            Err(failure) => Ok(Err(failure_out(failure))),
        }
    }

    fn send(&mut self, this: Resource<Context>, reply: types::Reply) -> Result<Result<(), types::Failure>> {
        self.send_outcome(&this, reply_in(reply).map(Outcome::Reply))
    }

    fn throw(&mut self, this: Resource<Context>, error: types::Thrown) -> Result<Result<(), types::Failure>> {
        self.send_outcome(&this, thrown_in(error).map(IntoReply::into_reply))
    }

    async fn open_reply(
        &mut self,
        this: Resource<Context>,
        status: u16,
        headers: Vec<types::Header>,
    ) -> Result<Result<Resource<Writer>, types::Failure>> {
        let slot = match self.slot_to_write(&this).await? {
            Ok(slot) => slot,
            Err(busy) => return Ok(Err(failure_out(busy))),
        };
        let context = self.context(&this)?;
        match response_head(status, headers).and_then(|head| context.open_reply(head)) {
            Ok(writer) => {
                let caller = context.caller().clone();
                if let Some(history) = &self.history {
                    history.breaker.response_began();
                }
                let open = OpenReply {
                    writer,
                    caller,
                    _slot: slot,
                };
                Ok(Ok(self.table.push(Writer::new(open))?))
            }
            Err(failure) => Ok(Err(failure_out(failure))),
        }
    }

    fn drop(&mut self, this: Resource<Context>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl context::HostBodyReader for Guest {
    fn drop(&mut self, this: Resource<Reader>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl context::HostBodyWriter for Guest {
    fn drop(&mut self, this: Resource<Writer>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl context_sync::Host for Guest {
    async fn body(&mut self, this: Resource<Context>) -> Result<Result<Vec<u8>, types::Failure>> {
        if let Err(busy) = self.slot_to_read(&this).await? {
            return Ok(Err(failure_out(busy)));
        }
        let bytes = self.context(&this)?.bytes().await;
        Ok(self.has_read(None, bytes).map(Vec::from))
    }

    async fn text(&mut self, this: Resource<Context>) -> Result<Result<String, types::Failure>> {
        if let Err(busy) = self.slot_to_read(&this).await? {
            return Ok(Err(failure_out(busy)));
        }
        let text = self.context(&this)?.text().await;
        Ok(self.has_read(None, text))
    }

    async fn call(
        &mut self,
        this: Resource<Context>,
        event: String,
        payload: types::Payload,
    ) -> Result<Result<types::Payload, types::Failure>> {
        let charged = self.charge_call(&event, &payload)?;
        let context = self.context(&this)?;
        let _charge = match charged {
            Ok(charge) => charge,
            Err(exceeded) => return Ok(Err(failure_out(overspent(context, exceeded)))),
        };
        let (running, caller) = (self.only_caller(), context.caller());
        let call = caller.deeper(running.as_ref()).call_raw(&event, payload_in(payload));
        Ok(result_out(call.await))
    }

    async fn read(&mut self, this: Resource<Reader>, max: u32) -> Result<Result<Option<Vec<u8>>, types::Failure>> {
        let reader = self.table.get(&this)?.0.clone();
        let chunk = read(reader, max).await;
        Ok(self.has_read(None, chunk).map(|chunk| chunk.map(Vec::from)))
    }

    async fn write(&mut self, this: Resource<Writer>, chunk: Vec<u8>) -> Result<Result<(), types::Failure>> {
        let writer = self.table.get(&this)?.0.clone();
        let chunk = self.keep(chunk)?;
        Ok(write(writer, chunk).await)
    }

    async fn finish(&mut self, this: Resource<Writer>) -> Result<Result<(), types::Failure>> {
        let writer = self.table.get(&this)?.0.clone();
        Ok(finish(writer).await)
    }
}

impl context_async::Host for Guest {}

impl<T: Send + 'static> context_async::HostWithStore<T> for HasSelf<Guest> {
    async fn body(accessor: &Accessor<T, Self>, context: Resource<Context>) -> Result<Result<Vec<u8>, types::Failure>> {
        let (context, task) = reading(accessor, &context)?;
        let body = context.clone();
        let bytes = unless_gone(context, async move { body.bytes().await }).await;
        let bytes = accessor.with(|mut access| access.get().has_read(task, bytes));
        Ok(bytes.map(Vec::from))
    }

    async fn text(accessor: &Accessor<T, Self>, context: Resource<Context>) -> Result<Result<String, types::Failure>> {
        let (context, task) = reading(accessor, &context)?;
        let body = context.clone();
        let text = unless_gone(context, async move { body.text().await }).await;
        Ok(accessor.with(|mut access| access.get().has_read(task, text)))
    }

    async fn call(
        accessor: &Accessor<T, Self>,
        context: Resource<Context>,
        event: String,
        payload: types::Payload,
    ) -> Result<Result<types::Payload, types::Failure>> {
        let (context, running, span, charged) = accessor.with(|mut access| {
            let task = running_task(&mut access)?;
            let guest = access.get();
            let (running, span) = (guest.caller_of(task), guest.entered_of(task));
            guest.note_use(task, &event);
            let charged = guest.charge(size_of_event(&event, &payload))?;
            Ok::<_, wasmtime::Error>((guest.context(&context)?.clone(), running, span, charged))
        })?;
        let _charge: Charge = match charged {
            Ok(charge) => charge,
            Err(exceeded) => return Ok(Err(failure_out(overspent(&context, exceeded)))),
        };
        let caller = context.caller().deeper(running.as_ref()).clone();
        let call = unless_gone(context, caller.call_raw(&event, payload_in(payload)));
        let result = call.instrument(span).await;
        Ok(result_out(result))
    }

    async fn read(
        accessor: &Accessor<T, Self>,
        reader: Resource<Reader>,
        max: u32,
    ) -> Result<Result<Option<Vec<u8>>, types::Failure>> {
        let (reader, task) = accessor.with(|mut access| {
            let task = task_of_code(&mut access)?;
            Ok::<_, wasmtime::Error>((access.get().table.get(&reader)?.0.clone(), task))
        })?;
        let chunk = read(reader, max).await;
        let chunk = accessor.with(|mut access| access.get().has_read(task, chunk));
        Ok(chunk.map(|chunk| chunk.map(Vec::from)))
    }

    async fn write(
        accessor: &Accessor<T, Self>,
        writer: Resource<Writer>,
        chunk: Vec<u8>,
    ) -> Result<Result<(), types::Failure>> {
        let (writer, chunk) = accessor.with(|mut access| {
            let guest = access.get();
            let chunk = guest.keep(chunk)?;
            Ok::<_, wasmtime::Error>((guest.table.get(&writer)?.0.clone(), chunk))
        })?;
        Ok(write(writer, chunk).await)
    }

    async fn finish(accessor: &Accessor<T, Self>, writer: Resource<Writer>) -> Result<Result<(), types::Failure>> {
        let writer = accessor.with(|mut access| access.get().table.get(&writer).map(|writer| writer.0.clone()))?;
        Ok(finish(writer).await)
    }
    async fn closed(accessor: &Accessor<T, Self>, writer: Resource<Writer>) -> Result<()> {
        let writer = accessor.with(|mut access| access.get().table.get(&writer).map(|writer| writer.0.clone()))?;
        // A write that waits ends when nobody reads any more.
        let closed = writer.lock().await.as_ref().map(|open| open.writer.closed());
        if let Some(closed) = closed {
            closed.await;
        }
        Ok(())
    }
}
