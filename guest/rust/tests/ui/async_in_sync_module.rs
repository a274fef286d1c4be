use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    async fn list() -> &'static str {
        "all products"
    }
}

module! { Products }

fn main() {}
