use pointwork_guest::controller;

struct Files;

#[controller("a//b")]
impl Files {
    #[get("files/{name}")]
    fn braces() {}

    #[get("{id}")]
    fn alone() {}

    #[get("files/{*rest}")]
    fn wildcard() {}

    #[get(["a/{id:int}", "b/<int:id>", "c/<rest..>", "d/[id]", "e/{rest:path}", "f/[...rest]", "g/{path}"])]
    fn others() {}

    #[get(["{name}.json", "a>b"])]
    fn partial() {}

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
