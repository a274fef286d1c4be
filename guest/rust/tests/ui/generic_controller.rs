use pointwork_guest::controller;

struct Files<T>(T);

#[controller("files")]
impl<T> Files<T> {
    #[get]
    fn list() -> &'static str {
        "all files"
    }
}

fn main() {}
