use pointwork_guest::controller;

struct Unreadable;

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn show(what: Unreadable) -> &'static str {
        let _ = what;
        "shown"
    }
}

fn main() {}
