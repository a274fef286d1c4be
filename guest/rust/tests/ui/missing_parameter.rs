use pointwork_guest::{Path, controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn show(id: Path<u64>) -> String {
        id.to_string()
    }
}

module! { Products }

fn main() {}
