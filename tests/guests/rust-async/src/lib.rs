//! An asynchronous module: a handler that waits does not block the other requests of its instance.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::lock::Mutex;
use futures_util::stream::{self, StreamExt as _};
use pointwork_guest::{
    AsyncContext, AsyncMultipart, Deferred, Failure, HttpStatus, Json, Path, Pieces, Reply, Streamed, controller,
    events, log, module,
};
use serde::{Deserialize, Serialize};
use wit_bindgen::{spawn_local, yield_async};

/// A product of the shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
    pub price: f64,
}

events! {
    /// All products.
    pub AllProducts = "db:product:all": () => Vec<Product>;
    /// The product of that id, if there is one.
    pub ProductById = "db:product:by-id": u64 => Option<Product>;
    /// The product of that id was viewed.
    pub ProductViewed = "product:viewed": u64;
    /// Returns after that number of milliseconds.
    pub Wait = "clock:wait": u64 => ();
    /// The channel `response` replies instead of the controller.
    pub Send = "response:send": String;
}

/// The shop.
pub struct Products;

#[controller("products")]
impl Products {
    #[get]
    async fn list(ctx: &AsyncContext) -> Result<Json<Vec<Product>>, Failure> {
        ctx.call::<AllProducts>(()).await.map(Json)
    }

    #[get(":id")]
    async fn show(ctx: AsyncContext, id: Path<u64>) -> Result<Json<Product>, Failure> {
        match ctx.emit::<ProductViewed>(*id).call::<ProductById>(*id).await? {
            Some(product) => Ok(Json(product)),
            None => Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product")),
        }
    }

    #[post]
    async fn create(product: Json<Product>) -> (HttpStatus, Json<Product>) {
        (HttpStatus::CREATED, product)
    }

    /// A plain function in an asynchronous controller.
    #[get(":id/id")]
    fn id(id: Path<u64>) -> String {
        id.to_string()
    }
}

/// Writes a part of a line to the standard output.
#[cfg(target_arch = "wasm32")]
fn print(text: &str) {
    #[link(wasm_import_module = "pointwork:module/log@0.2.0")]
    unsafe extern "C" {
        #[link_name = "print"]
        fn print(to_error: u32, bytes: *const u8, length: usize);
    }
    // SAFETY: the host reads the text during the call.
    unsafe { print(0, text.as_ptr(), text.len()) }
}

#[cfg(not(target_arch = "wasm32"))]
fn print(_: &str) {}

/// Handlers that wait, in all ways.
pub struct Waits;

#[controller("waits")]
impl Waits {
    #[get(":ms")]
    async fn wait(ctx: &AsyncContext, ms: Path<u64>) -> Result<&'static str, Failure> {
        ctx.call::<Wait>(*ms).await?;
        Ok("waited")
    }

    /// Tells that its client left, and awaits something that the host does not know.
    #[get("never")]
    async fn never(ctx: &AsyncContext) -> &'static str {
        let _ = ctx.call::<Wait>(1).await;
        ctx.emit::<ProductViewed>(1);
        std::future::pending().await
    }

    /// The number of requests of this kind that the instance had begun when this one began.
    #[get(":ms/begun")]
    async fn begun(ctx: &AsyncContext, ms: Path<u64>) -> Result<String, Failure> {
        static BEGUN: AtomicU32 = AtomicU32::new(0);
        let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
        ctx.call::<Wait>(*ms).await?;
        Ok(begun.to_string())
    }

    /// Logs a line before it waits, and one after it.
    #[get(":ms/logged")]
    async fn logged(ctx: &AsyncContext, ms: Path<u64>) -> Result<String, Failure> {
        static LOGGED: AtomicU32 = AtomicU32::new(0);
        let number = LOGGED.fetch_add(1, Ordering::Relaxed);
        log::info!(of = ctx.request_id(); "number {number} begins to wait");
        print(&format!("{} begins", ctx.request_id()));
        ctx.call::<Wait>(*ms).await?;
        print(" and ends its line\n");
        log::info!(of = ctx.request_id(); "number {number} waited");
        Ok(number.to_string())
    }

    #[get("given-away")]
    async fn given_away(ctx: AsyncContext) -> Result<Deferred, Failure> {
        ctx.hand_over::<Send>("by the channel".into())
    }

    #[get("streamed")]
    async fn streamed(ctx: &AsyncContext) -> Result<(), Failure> {
        let body = ctx.open_reply(Reply::new(HttpStatus::OK).header("content-type", "text/plain"))?;
        for chunk in ["one ", "two ", "three"] {
            body.write(chunk).await?;
        }
        body.finish().await
    }

    #[post("count", body = "stream")]
    async fn count(ctx: &AsyncContext) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        let mut bytes = 0;
        while let Some(chunk) = body.read(4096).await? {
            bytes += chunk.len();
        }
        Ok(bytes.to_string())
    }

    /// Waits, and then never lets go of the processor.
    #[get(":ms/loops")]
    async fn loops(ctx: &AsyncContext, ms: Path<u64>) -> Result<(), Failure> {
        ctx.call::<Wait>(*ms).await?;
        loop {
            std::hint::spin_loop();
        }
    }

    #[get("panic")]
    async fn panic() -> &'static str {
        panic!("this handler panics on purpose")
    }
}

/// Handlers that share a mutex, and the budget of their instance.
pub struct Shares;

#[controller("shares")]
impl Shares {
    /// Holds the mutex of the instance while it waits.
    #[get("mutex/:ms")]
    async fn mutex(ctx: &AsyncContext, ms: Path<u64>) -> Result<&'static str, Failure> {
        static HELD: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);
        let _held = HELD.lock().await;
        ctx.call::<Wait>(*ms).await?;
        Ok("held")
    }

    /// Prints that number of lines.
    #[get("lines/:count")]
    async fn lines(count: Path<u32>) -> &'static str {
        (0..*count).for_each(|_| print("one of many\n"));
        "printed"
    }
}

/// Code that goes on after its call has ended.
pub struct After;

#[controller("after")]
impl After {
    /// Lets other code of its instance run, and never ends.
    #[get("yields")]
    async fn yields() -> &'static str {
        spawn_local(async {
            loop {
                yield_async().await;
            }
        });
        "begun"
    }

    /// Prints the half of a line, waits, and prints the other half.
    #[get("prints/:name")]
    async fn prints(ctx: AsyncContext, name: Path<String>) -> &'static str {
        spawn_local(async move {
            // The call ends first, whose end is the end of a line.
            yield_async().await;
            print(&format!("half of {}, ", *name));
            if ctx.call::<Wait>(1).await.is_ok() {
                print(&format!("rest of {}\n", *name));
            }
        });
        "begun"
    }

    /// Panics once it has waited.
    #[get("panics")]
    async fn panics(ctx: AsyncContext) -> &'static str {
        spawn_local(async move {
            if ctx.call::<Wait>(1).await.is_ok() {
                panic!("code panics after its call");
            }
        });
        "begun"
    }
}

/// Handlers that make the host keep something.
pub struct Hoards;

#[controller("hoards")]
impl Hoards {
    /// Sets an extension of that many bytes.
    #[get("extension/:bytes")]
    async fn extension(ctx: &AsyncContext, bytes: Path<u64>) -> &'static str {
        ctx.set_extension("hoard", &"x".repeat(*bytes as usize));
        "kept"
    }

    /// Emits an event of that many bytes.
    #[get("event/:bytes")]
    async fn event(ctx: &AsyncContext, bytes: Path<u64>) -> &'static str {
        ctx.emit::<Send>("x".repeat(*bytes as usize));
        "emitted"
    }
}

/// A controller without `async fn` in an asynchronous module.
pub struct Health;

/// A controller for modules of both forms: its handlers take no context.
pub struct Echo;

#[controller("echo")]
impl Echo {
    #[post]
    fn echo(body: String) -> String {
        body
    }
}

#[controller("health")]
impl Health {
    #[get]
    fn show(ctx: &AsyncContext) -> String {
        format!("up, {}", ctx.method())
    }
}

/// Bodies that the SDK reads and writes in pieces.
pub struct Parts;

#[controller("parts")]
impl Parts {
    #[post("upload", body = "stream")]
    async fn upload(mut form: AsyncMultipart) -> Result<String, Failure> {
        let (mut parts, mut bytes) = (0, 0);
        while let Some(mut part) = form.next_part().await? {
            parts += 1;
            while let Some(chunk) = part.read().await? {
                bytes += chunk.len();
            }
        }
        Ok(format!("{parts} parts, {bytes} bytes"))
    }

    #[get("rows/:count")]
    async fn rows(count: Path<u32>) -> Streamed<impl Pieces> {
        let rows = stream::iter(0..*count).then(async |row| format!("{row}\n"));
        Reply::new(HttpStatus::OK)
            .header("content-type", "text/csv")
            .stream(rows)
    }

    /// Pages of 64 KiB.
    #[get("pages/:count")]
    async fn pages(count: Path<u32>) -> Streamed<impl Pieces> {
        let pages = stream::iter(0..*count).then(async |_| "x".repeat(64 * 1024));
        Reply::new(HttpStatus::OK).stream(pages)
    }

    /// One piece, and then none for ever.
    #[get("silent")]
    async fn silent() -> Streamed<impl Pieces> {
        let pieces = stream::iter(["begun"]).chain(stream::pending());
        Reply::new(HttpStatus::OK).stream(pieces)
    }

    /// One piece. Tells that the client has left, and begins a loop that lets other code run.
    #[get("lingers")]
    async fn lingers(ctx: AsyncContext) -> Result<Deferred, Failure> {
        let writer = ctx.open_reply(Reply::new(HttpStatus::OK))?;
        writer.write("piece").await?;
        writer.closed().await;
        ctx.emit::<ProductViewed>(1);
        loop {
            yield_async().await;
        }
    }

    /// Empty pieces for ever, each of them ready.
    #[get("empty")]
    async fn empty() -> Streamed<impl Pieces> {
        let pieces = stream::iter(["begun"]).chain(stream::repeat(""));
        Reply::new(HttpStatus::OK).stream(pieces)
    }

    #[get("broken")]
    async fn broken(ctx: &AsyncContext) -> Streamed<impl Pieces> {
        let failure = ctx.throw(HttpStatus::CONFLICT, "no more");
        Reply::new(HttpStatus::OK).iter([Ok("one"), Err(failure)])
    }
}

module! { async; Products, Waits, Shares, After, Hoards, Health, Echo, Parts }
