use pointwork_guest::{Path, controller};

pub struct Products;

#[cfg(not(feature = "async"))]
#[controller("products")]
impl Products {
    #[get(":id")]
    fn show(id: Path<String>) -> String {
        id.0
    }
}

#[cfg(feature = "async")]
#[controller("products")]
impl Products {
    #[get(":id")]
    async fn show(id: Path<String>) -> String {
        id.0
    }
}
