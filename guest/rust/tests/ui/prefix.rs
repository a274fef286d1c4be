use pointwork_guest::controller;

struct Files;

#[controller(files)]
impl Files {
    #[get]
    fn list() {}
}

struct Two;

#[controller("a", "b")]
impl Two {
    #[get]
    fn list() {}
}

#[controller("struct")]
struct Three;

fn main() {}
