use pointwork_guest::{AsyncContext, controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn method(ctx: &AsyncContext) -> String {
        ctx.method()
    }
}

module! { Products }

fn main() {}
