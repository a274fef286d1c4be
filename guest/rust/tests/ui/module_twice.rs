use pointwork_guest::{controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

struct Health;

#[controller("health")]
impl Health {
    #[get]
    fn show() -> &'static str {
        ""
    }
}

module! { Products }

module! { Health }

fn main() {}
