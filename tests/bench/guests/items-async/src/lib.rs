//! The request of the comparison in the asynchronous form.

use pointwork_guest::{AsyncContext, Failure, Json, Path, controller, events, module};
use serde::Serialize;

events! {
    /// The name of an item.
    pub Name = "bench:name": u32 => String;
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
    async fn show(id: Path<u32>) -> Json<Item> {
        item(id.0, "Assam".into())
    }

    #[get(":id/call")]
    async fn call(ctx: &AsyncContext, id: Path<u32>) -> Result<Json<Item>, Failure> {
        Ok(item(id.0, ctx.call::<Name>(id.0).await?))
    }
}

fn item(id: u32, name: String) -> Json<Item> {
    Json(Item { id, name })
}

module! { async; Items }
