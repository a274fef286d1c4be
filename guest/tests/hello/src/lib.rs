//! The smallest controller that reads something: what a module weighs and imports at least.

use pointwork_guest::{Path, controller, module};

struct Products;

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

#[cfg(not(feature = "async"))]
module! { Products }

#[cfg(feature = "async")]
module! { async; Products }
