use pointwork_guest::{Failure, Path, controller};

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn nothing() {}

    #[get(":id")]
    fn result(_id: Path<u64>) -> Result<(), Failure> {
        Ok(())
    }
}

fn main() {}
