use pointwork_guest::{Deferred, Failure, Path, controller};

type Done = ();

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn nothing() {}

    #[get(":id")]
    fn result(_id: Path<u64>) -> Result<(), Failure> {
        Ok(())
    }

    #[get("aliased")]
    fn aliased() -> Done {}

    #[get("within")]
    async fn within() -> Option<Result<Done, Failure>> {
        None
    }

    #[get("deferred")]
    fn deferred() -> Deferred {
        Deferred
    }
}

fn main() {}
