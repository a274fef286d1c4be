use pointwork_guest::controller;

struct OutOfStock;

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn show() -> Result<String, OutOfStock> {
        Err(OutOfStock)
    }
}

fn main() {}
