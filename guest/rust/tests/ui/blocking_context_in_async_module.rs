use pointwork_guest::{Context, Failure, Json, controller, events, module};

events! { pub Stock = "db:stock": String => u32; }

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() -> &'static str {
        "all products"
    }

    #[post]
    fn stock(ctx: &Context, name: Json<String>) -> Result<Json<u32>, Failure> {
        ctx.call::<Stock>(name.0).map(Json)
    }
}

module! { async; Products }

fn main() {}
