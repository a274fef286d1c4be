use pointwork_guest::controller;

struct Files;

#[controller(files)]
impl Files {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

struct Two;

#[controller("a", "b")]
impl Two {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

#[controller("struct")]
struct Three;

fn main() {}
