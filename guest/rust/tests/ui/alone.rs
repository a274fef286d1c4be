//! A mistake in a block is one error: the module lists it, and the code calls its functions.

use pointwork_guest::{Context, channel, controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get("files/{name}")]
    fn list(ctx: &Context) -> String {
        Self::helper(ctx)
    }

    fn helper(ctx: &Context) -> String {
        ctx.method()
    }
}

struct Generic<T>(T);

#[controller("generic")]
impl<T> Generic<T> {
    #[get]
    fn list() {}
}

#[controller("orders")]
struct Orders;

#[channel("carts")]
enum Carts {}

struct Db;

#[channel("db")]
impl Db {
    #[on("all")]
    fn all(&self) {}
}

module! { Products, Generic<u8>, Orders; channels: Db, Carts }

fn main() {
    let _ = Products::list;
}
