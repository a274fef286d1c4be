use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() {}
}

struct Health;

#[controller("health")]
impl Health {
    #[get]
    fn show() {}
}

module! { Products }

module! { Health }

fn main() {}
