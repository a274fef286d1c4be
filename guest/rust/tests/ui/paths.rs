use pointwork_guest::controller;

struct Files;

#[controller("a//b")]
impl Files {
    #[get("files/{name}")]
    fn braces() {}

    #[get(":1st")]
    fn name() {}

    #[get("*rest/size")]
    fn rest() {}

    #[get(":id/:id")]
    fn twice() {}

    #[get(["fine", "search?q=1"])]
    fn query() {}

    #[get("two words")]
    fn space() {}

    #[get("v:version")]
    fn inside() {}
}

struct Shops;

#[controller("shops/:id")]
impl Shops {
    #[get("items/:id")]
    fn again() {}

    #[get("100%")]
    fn escape() {}
}

fn main() {}
