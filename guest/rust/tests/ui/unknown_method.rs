use pointwork_guest::{RequestMethod, controller};

struct Files;

#[controller("files")]
impl Files {
    #[request_mapping(method = RequestMethod::Fetch)]
    fn fetch() -> &'static str {
        ""
    }
}

fn main() {}
