use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() {}
}

#[controller("products")]
impl Products {
    #[post]
    fn create() {}
}

module! { Products }

fn main() {}
