//! An asynchronous module of a controller and channels, with several calls of one handler or listener in flight.

use futures_util::future::try_join;
use pointwork_guest::{
    AsyncContext, AsyncDelivery, Deferred, Failure, Path, Payload, channel, controller, events, module,
};

events! {
    /// Returns after that number of milliseconds. Another module listens to it.
    pub Wait = "clock:wait": u64 => ();
    /// Waits twice at the same time, for that number of milliseconds each.
    pub Both = "relay:both": u64 => ();
    /// Replies with the text.
    pub Send = "response2:send": String;
}

/// Waits by itself or through a channel.
pub struct Waits;

#[controller("both")]
impl Waits {
    #[get(":ms")]
    async fn both(ctx: &AsyncContext, ms: Path<u64>) -> Result<&'static str, Failure> {
        try_join(ctx.call::<Wait>(*ms), ctx.call::<Wait>(*ms)).await?;
        Ok("both waited")
    }

    #[get("listener/:ms")]
    async fn listener(ctx: &AsyncContext, ms: Path<u64>) -> Result<&'static str, Failure> {
        ctx.call::<Both>(*ms).await?;
        Ok("the listener waited for both")
    }

    #[get(":id/label")]
    async fn label(ctx: AsyncContext, id: Path<u64>) -> Result<Deferred, Failure> {
        ctx.hand_over::<Send>(format!("label of {}", *id))
    }
}

/// Waits for another channel.
pub struct Relay;

#[channel("relay")]
impl Relay {
    #[on(Both)]
    async fn both(delivery: &AsyncDelivery, ms: u64) -> Result<(), Failure> {
        try_join(delivery.call::<Wait>(ms), delivery.call::<Wait>(ms)).await?;
        Ok(())
    }

    /// A plain function in an asynchronous channel; two events, one listener.
    #[on("echo")]
    #[on("echo:again")]
    fn echo(payload: Payload) -> Payload {
        payload
    }
}

/// Replies instead of a controller.
pub struct Response;

#[channel("response2")]
impl Response {
    #[on(Send)]
    async fn send(context: AsyncContext, text: String) -> Result<(), Failure> {
        context.send(text)
    }
}

/// A channel without `async fn` in an asynchronous module.
pub struct Names;

#[channel("names")]
impl Names {
    #[on("event")]
    fn event(delivery: AsyncDelivery) -> (String, Option<String>) {
        (delivery.event(), delivery.request_id())
    }

    #[on("attempt")]
    fn attempt(delivery: &AsyncDelivery) -> (String, u32) {
        (delivery.id(), delivery.attempt())
    }

    #[on("has-context")]
    fn has_context(context: Option<AsyncContext>) -> bool {
        context.is_some()
    }
}

module! { async; Waits; channels: Relay, Response, Names }
