use pointwork_guest::controller;

struct Files;

#[controller("files")]
impl Files {
    #[get]
    fn method(&self) {}

    #[get("generic")]
    fn generic<T>() {}

    #[get("impl")]
    fn takes_impl(_id: impl Into<String>) {}

    #[get("unsafe")]
    unsafe fn is_unsafe() {}

    #[get("const")]
    const NAME: &'static str = "files";
}

fn main() {}
