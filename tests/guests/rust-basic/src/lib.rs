//! A synchronous module that uses every feature of the SDK, for the behaviour suite.

mod methods;
mod parts;

use pointwork_guest::{
    Context, Deferred, Failure, HttpStatus, Json, Path, Query, Reply, RequestMethod, controller, events, log, module,
};
use serde::{Deserialize, Serialize};

pub use methods::Methods;
pub use parts::Parts;

/// A product of the shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
    pub price: f64,
}

/// A product as a client sends it.
#[derive(Debug, Serialize, Deserialize)]
pub struct NewProduct {
    pub name: String,
    pub price: f64,
}

/// The query of `search`.
#[derive(Debug, Deserialize)]
pub struct Search {
    pub text: String,
    #[serde(default)]
    pub page: u32,
    #[serde(default)]
    pub tag: Vec<String>,
}

events! {
    /// All products.
    pub AllProducts = "db:product:all": () => Vec<Product>;
    /// The product of that id, if there is one.
    pub ProductById = "db:product:by-id": u64 => Option<Product>;
    /// The product of that id was viewed.
    pub ProductViewed = "product:viewed": u64;
    /// The channel `response` replies instead of the controller.
    pub Send = "response:send": String;
}

/// The shop.
pub struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list(ctx: &Context) -> Result<Json<Vec<Product>>, Failure> {
        ctx.call::<AllProducts>(()).map(Json)
    }

    #[get(":id")]
    fn show(ctx: &Context, id: Path<u64>) -> Result<Json<Product>, Failure> {
        match ctx.emit::<ProductViewed>(*id).call::<ProductById>(*id)? {
            Some(product) => Ok(Json(product)),
            None => Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product")),
        }
    }

    #[get(":id/id")]
    fn id(id: Path<u64>) -> String {
        id.to_string()
    }

    #[get("search")]
    #[search]
    fn search(search: Query<Search>) -> String {
        format!("{}, page {}, tags {}", search.text, search.page, search.tag.join("+"))
    }

    #[post]
    fn create(Json(new): Json<NewProduct>) -> (HttpStatus, Json<Product>) {
        (
            HttpStatus::CREATED,
            Json(Product {
                id: 7,
                name: new.name,
                price: new.price,
            }),
        )
    }

    #[delete([":id", ":id/all"])]
    fn delete(id: Path<u64>) -> HttpStatus {
        log::info!("product {} is gone", *id);
        HttpStatus::NO_CONTENT
    }

    #[propfind(":id")]
    #[request_mapping(path = ":id", method = RequestMethod::Lock)]
    #[request_mapping(path = ":id", method = "NOTIFY")]
    fn webdav(ctx: &Context, id: Path<u64>) -> String {
        format!("{} {}", ctx.method(), *id)
    }
}

/// All kinds of replies, and rarely used functions of the context.
pub struct Replies;

#[controller("replies")]
impl Replies {
    #[get("text")]
    fn text() -> &'static str {
        "text"
    }

    #[get("bytes")]
    fn bytes() -> Vec<u8> {
        vec![0, 1, 254, 255]
    }

    #[get("headers")]
    fn headers() -> Reply {
        Reply::new(HttpStatus::ACCEPTED)
            .header("x-one", "1")
            .header("x-two", "2")
            .header("x-two", "3")
            .text("headers")
    }

    #[get("none")]
    fn none() -> Option<&'static str> {
        None
    }

    #[get("nothing")]
    fn nothing(_ctx: &Context) {}

    #[get("sent")]
    fn sent(ctx: Context) -> Result<Context, Failure> {
        ctx.send((HttpStatus::ACCEPTED, "sent"))?;
        Ok(ctx)
    }

    #[get("twice")]
    fn twice(ctx: &Context) -> Result<(), Failure> {
        ctx.send("first")?;
        match ctx.send("second") {
            Err(error) if error.code() == "already-replied" => log::info!("refused: {error}"),
            other => log::error!("expected `already-replied`, got {other:?}"),
        }
        Ok(())
    }

    #[get("given-away")]
    fn given_away(ctx: Context) -> Result<Deferred, Failure> {
        ctx.hand_over::<Send>("by the channel".into())
    }

    #[get("thrown/:status")]
    fn thrown(ctx: &Context, status: Path<u16>) -> Failure {
        ctx.throw(*status, "thrown")
    }

    #[get("streamed")]
    fn streamed(ctx: &Context) -> Result<(), Failure> {
        let body = ctx.open_reply(Reply::new(HttpStatus::OK).header("content-type", "text/plain"))?;
        for chunk in ["one ", "two ", "three"] {
            body.write(chunk)?;
        }
        body.finish()
    }

    /// Replies with the result of a call whose listener may return another type than declared.
    #[get("undecoded")]
    fn undecoded(ctx: &Context) -> String {
        match ctx.call::<AllProducts>(()) {
            Ok(products) => format!("{} products", products.len()),
            Err(error) => format!("{}: {error}", error.code()),
        }
    }

    #[get("panic")]
    fn panic() -> &'static str {
        panic!("this handler panics on purpose")
    }

    #[post("echo")]
    fn echo(ctx: &Context, body: Vec<u8>) -> Reply {
        let content_type = ctx
            .header("content-type")
            .unwrap_or_else(|| "application/octet-stream".into());
        Reply::new(HttpStatus::OK)
            .header("content-type", content_type)
            .bytes(body)
    }

    #[post("count", body = "stream")]
    fn count(ctx: &Context) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        let mut bytes = 0;
        while let Some(chunk) = body.read(4096)? {
            bytes += chunk.len();
        }
        Ok(bytes.to_string())
    }

    #[get("request/*rest")]
    fn request(ctx: &Context) -> String {
        let query = ctx.query().unwrap_or_else(|| "none".into());
        ctx.set_extension("seen-by", "request");
        format!(
            "{} {} {} {} {:?} {:?}",
            ctx.method(),
            ctx.path(),
            query,
            ctx.route(),
            ctx.params(),
            ctx.extension("seen-by")
        )
    }

    /// Not a handler: it has no attribute.
    pub fn helper() -> &'static str {
        "helper"
    }
}

/// Without a prefix, for every method.
pub struct Health;

#[controller]
impl Health {
    #[all("health")]
    fn show() -> &'static str {
        "up"
    }

    #[r#move("health/moved")]
    fn moved() -> &'static str {
        "moved"
    }

    #[move_("health/moved-too")]
    fn moved_too() -> &'static str {
        "moved too"
    }
}

/// Methods of a trait are not handlers. The default method below has no attribute, since the compiler refuses one
/// there.
pub trait Inherited {
    /// Would be a handler if methods of a trait were.
    fn inherited() -> &'static str {
        "inherited"
    }
}

impl Inherited for Health {}

/// A controller that is not in the list of the module, so it is not part of it.
pub struct Unlisted;

#[controller("unlisted")]
impl Unlisted {
    #[get]
    fn show() -> &'static str {
        "never"
    }
}

module! { Products, Replies, Health, Methods, Parts }
