use pointwork_guest::{Json, controller};

struct Unreadable;

struct Products;

#[controller("products")]
impl Products {
    #[post]
    fn create(product: Json<Unreadable>) -> &'static str {
        let _ = product;
        ""
    }

    #[get("all")]
    fn all() -> Json<Unreadable> {
        Json(Unreadable)
    }
}

fn main() {}
