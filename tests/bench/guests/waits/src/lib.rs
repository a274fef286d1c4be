//! The same handlers in the asynchronous form.

use pointwork_guest::{AsyncContext, Failure, HttpStatus, Path, Reply, controller, events, module};

events! {
    /// Returns its argument.
    pub Echo = "bench:echo": String => String;
    /// Returns after 10 ms.
    pub Wait = "bench:wait": () => ();
}

/// The controller.
pub struct Waits;

#[controller("waits")]
impl Waits {
    #[get(":id")]
    async fn show(ctx: &AsyncContext) -> Option<String> {
        ctx.param("id")
    }

    #[get("wait")]
    async fn wait(ctx: &AsyncContext) -> Result<&'static str, Failure> {
        ctx.call::<Wait>(()).await?;
        Ok("waited")
    }

    #[get(":id/call")]
    async fn call(ctx: &AsyncContext) -> Result<String, Failure> {
        ctx.call::<Echo>(ctx.param("id").unwrap_or_default()).await
    }
}

/// Request and reply bodies of any length, in chunks.
pub struct Streams;

/// The largest chunk, in bytes.
const CHUNK: u32 = 64 * 1024;

#[controller("streams-async")]
impl Streams {
    /// The length of the request body.
    #[post("count", body = "stream")]
    async fn count(ctx: &AsyncContext) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        let mut bytes = 0_u64;
        while let Some(chunk) = body.read(CHUNK).await? {
            bytes += chunk.len() as u64;
        }
        Ok(bytes.to_string())
    }

    /// A reply of that many MiB.
    #[get("give/:mib")]
    async fn give(ctx: &AsyncContext, mib: Path<u32>) -> Result<(), Failure> {
        let body = ctx.open_reply(Reply::new(HttpStatus::OK))?;
        for _ in 0..mib.0 * (1024 * 1024 / CHUNK) {
            body.write(vec![7; CHUNK as usize]).await?;
        }
        body.finish().await
    }

    /// Echoes the body, chunk by chunk.
    #[post("echo", body = "stream")]
    async fn echo(ctx: &AsyncContext) -> Result<(), Failure> {
        let request = ctx.open_body()?;
        let reply = ctx.open_reply(Reply::new(HttpStatus::OK))?;
        while let Some(chunk) = request.read(CHUNK).await? {
            reply.write(chunk).await?;
        }
        reply.finish().await
    }
}

module! { async; Waits, Streams }
