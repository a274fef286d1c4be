use pointwork_guest::controller;

trait Listing {
    fn list() -> &'static str;
}

struct Files;

#[controller("files")]
impl Listing for Files {
    #[get]
    fn list() -> &'static str {
        "all files"
    }
}

fn main() {}
