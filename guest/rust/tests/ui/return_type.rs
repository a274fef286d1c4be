use pointwork_guest::controller;

struct Product;

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn show() -> Product {
        Product
    }
}

fn main() {}
