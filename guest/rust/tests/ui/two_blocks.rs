use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

#[controller("products")]
impl Products {
    #[post]
    fn create() -> &'static str {
        ""
    }
}

module! { Products }

fn main() {}
