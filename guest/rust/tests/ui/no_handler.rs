use pointwork_guest::controller;

struct Files;

#[controller("files")]
impl Files {
    fn list() -> &'static str {
        "all files"
    }
}

fn main() {}
