use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() {}

    #[gett(":id")]
    fn show() {}

    #[POST]
    fn create() {}
}

module! { Products }

fn main() {}
