//! Request and reply bodies of any length, in chunks, in the synchronous form.

use pointwork_guest::{Context, Failure, HttpStatus, Path, Reply, controller, module};

/// The largest chunk, in bytes.
const CHUNK: u32 = 64 * 1024;

/// The controller.
pub struct Streams;

#[controller("streams")]
impl Streams {
    /// The length of the request body.
    #[post("count", body = "stream")]
    fn count(ctx: &Context) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        let mut bytes = 0_u64;
        while let Some(chunk) = body.read(CHUNK)? {
            bytes += chunk.len() as u64;
        }
        Ok(bytes.to_string())
    }

    /// A reply of that many MiB.
    #[get("give/:mib")]
    fn give(ctx: &Context, mib: Path<u32>) -> Result<(), Failure> {
        let body = ctx.open_reply(Reply::new(HttpStatus::OK))?;
        let chunk = vec![7; CHUNK as usize];
        for _ in 0..mib.0 * (1024 * 1024 / CHUNK) {
            body.write(&chunk)?;
        }
        body.finish()
    }

    /// Echoes the body, chunk by chunk.
    #[post("echo", body = "stream")]
    fn echo(ctx: &Context) -> Result<(), Failure> {
        let request = ctx.open_body()?;
        let reply = ctx.open_reply(Reply::new(HttpStatus::OK))?;
        while let Some(chunk) = request.read(CHUNK)? {
            reply.write(&chunk)?;
        }
        reply.finish()
    }
}

module! { Streams }
