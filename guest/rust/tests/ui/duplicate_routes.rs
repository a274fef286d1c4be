use pointwork_guest::{Path, RequestMethod, controller, module};

struct Products;

#[controller("products")]
impl Products {
    #[get(":id")]
    fn by_id(_id: Path<u64>) {}

    #[get(["new", "/:name/"])]
    fn by_name(_name: Path<String>) {}

    #[post]
    #[post("/")]
    fn create() {}

    #[all]
    fn other() {}

    #[request_mapping(method = RequestMethod::Propfind)]
    fn properties() {}

    #[request_mapping(method = RequestMethod::Propfind)]
    fn properties_again() {}
}

module! { Products }

fn main() {}
