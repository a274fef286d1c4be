use pointwork_guest::{Path, controller};

struct Products;

#[controller("products")]
impl Products {
    #[get([":id", "latest"])]
    fn show(id: Path<u64>) -> String {
        id.to_string()
    }
}

fn main() {}
