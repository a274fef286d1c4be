//! An asynchronous module: handlers that wait do not hold up the other requests of their instance.

use std::sync::atomic::{AtomicU32, Ordering};

use pointwork_guest::{
    AsyncContext, CallError, Context, Deferred, HttpStatus, Json, Path, Reply, Throw, controller, events, module,
};
use serde::{Deserialize, Serialize};

/// What the shop sells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
    pub price: f64,
}

events! {
    /// Every product.
    pub AllProducts = "db:product:all": () => Vec<Product>;
    /// One product, if there is one of that id.
    pub ProductById = "db:product:by-id": u64 => Option<Product>;
    /// Somebody looked at the product of that id.
    pub ProductViewed = "product:viewed": u64;
    /// Returns after so many milliseconds.
    pub Wait = "clock:wait": u64 => ();
    /// The channel `response` replies in the controller's stead.
    pub Send = "response:send": String;
}

/// The shop.
pub struct Products;

#[controller("products")]
impl Products {
    #[get]
    async fn list(ctx: &AsyncContext) -> Result<Json<Vec<Product>>, CallError> {
        ctx.call::<AllProducts>(()).await.map(Json)
    }

    #[get(":id")]
    async fn show(ctx: AsyncContext, id: Path<u64>) -> Result<Json<Product>, Throw> {
        match ctx.emit::<ProductViewed>(*id).call::<ProductById>(*id).await? {
            Some(product) => Ok(Json(product)),
            None => ctx.throw(HttpStatus::NOT_FOUND, "no such product"),
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

/// Waiting, in all its forms.
pub struct Waits;

#[controller("waits")]
impl Waits {
    #[get(":ms")]
    async fn wait(ctx: &AsyncContext, ms: Path<u64>) -> Result<&'static str, CallError> {
        ctx.call::<Wait>(*ms).await?;
        Ok("waited")
    }

    /// How many requests of this kind the instance had begun when this one began.
    #[get(":ms/begun")]
    async fn begun(ctx: &AsyncContext, ms: Path<u64>) -> Result<String, CallError> {
        static BEGUN: AtomicU32 = AtomicU32::new(0);
        let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
        ctx.call::<Wait>(*ms).await?;
        Ok(begun.to_string())
    }

    #[get("given-away")]
    async fn given_away(ctx: AsyncContext) -> Result<Deferred, CallError> {
        ctx.hand_over::<Send>("by the channel".into())
    }

    #[get("streamed")]
    async fn streamed(ctx: &AsyncContext) -> Result<(), CallError> {
        let body = ctx.open_reply(Reply::new(HttpStatus::OK).header("content-type", "text/plain"))?;
        for piece in ["one ", "two ", "three"] {
            body.write(piece).await?;
        }
        body.finish()
    }

    #[post("count")]
    async fn count(ctx: &AsyncContext) -> Result<String, CallError> {
        let body = ctx.open_body()?;
        let mut bytes = 0;
        while let Some(piece) = body.read(4096).await? {
            bytes += piece.len();
        }
        Ok(bytes.to_string())
    }

    #[get("panic")]
    async fn panic() -> &'static str {
        panic!("this handler panics on purpose")
    }
}

/// A controller without `async fn`, in an asynchronous module all the same.
pub struct Health;

#[controller("health")]
impl Health {
    #[get]
    fn show(ctx: &Context) -> String {
        format!("up, {}", ctx.method())
    }
}

module! { async; Products, Waits, Health }
