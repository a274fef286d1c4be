use pointwork_guest::attributes::get;
use pointwork_guest::controller;

/// A default method of a trait is not a handler: an attribute on it is refused.
trait Listing {
    #[get]
    fn list() -> &'static str {
        "all files"
    }
}

#[controller("files")]
trait Showing {
    #[get]
    fn show() -> &'static str {
        "one file"
    }
}

struct Files;

#[controller("files")]
impl Files {
    #[get("own")]
    fn own() -> &'static str {
        "own"
    }
}

impl Listing for Files {}
impl Showing for Files {}

fn main() {}
