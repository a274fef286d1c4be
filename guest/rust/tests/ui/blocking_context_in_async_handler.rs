use pointwork_guest::{Context, Failure, controller, events};

events! { Stock = "db:stock": u64 => u32; }

struct Products;

#[controller("products")]
impl Products {
    #[get]
    async fn show(ctx: &Context) -> Result<String, Failure> {
        let stock = ctx.call::<Stock>(7)?;
        Ok(stock.to_string())
    }
}

fn main() {}
