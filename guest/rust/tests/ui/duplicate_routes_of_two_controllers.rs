use pointwork_guest::{Path, controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get(":id")]
    fn show(_id: Path<u64>) -> &'static str {
        ""
    }
}

struct Shop;

#[controller]
impl Shop {
    #[get("products/:name")]
    fn product(_name: Path<String>) -> &'static str {
        ""
    }
}

module! { Products, Shop }

fn main() {}
