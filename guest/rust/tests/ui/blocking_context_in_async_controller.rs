use pointwork_guest::{AsyncContext, Context, controller};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    async fn list(ctx: Context) -> String {
        ctx.method()
    }

    #[get("other")]
    fn other(ctx: AsyncContext) -> String {
        ctx.method()
    }
}

fn main() {}
