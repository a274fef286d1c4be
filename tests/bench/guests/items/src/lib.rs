//! The request of the comparison: `GET /items/7` answers `{"id":7,"name":"Assam"}`, alone, with a call and with an emit.

use pointwork_guest::{Context, Failure, Json, Path, controller, events, module};
use serde::Serialize;

events! {
    /// The name of an item.
    pub Name = "bench:name": u32 => String;
    /// An item was shown.
    pub Shown = "bench:shown": u32;
    /// Nothing, after a while.
    pub Wait = "bench:wait": () => ();
}

/// The reply.
#[derive(Serialize)]
pub struct Item {
    id: u32,
    name: String,
}

/// The controller.
pub struct Items;

#[controller("items")]
impl Items {
    #[get(":id")]
    fn show(id: Path<u32>) -> Json<Item> {
        item(id.0, "Assam".into())
    }

    #[get(":id/call")]
    fn call(ctx: &Context, id: Path<u32>) -> Result<Json<Item>, Failure> {
        Ok(item(id.0, ctx.call::<Name>(id.0)?))
    }

    #[get("wait")]
    fn wait(ctx: &Context) -> Result<&'static str, Failure> {
        ctx.call::<Wait>(())?;
        Ok("1")
    }

    #[get(":id/emit")]
    fn emit(ctx: &Context, id: Path<u32>) -> Json<Item> {
        ctx.emit::<Shown>(id.0);
        item(id.0, "Assam".into())
    }
}

fn item(id: u32, name: String) -> Json<Item> {
    Json(Item { id, name })
}

module! { Items }
