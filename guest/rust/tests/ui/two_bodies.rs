use pointwork_guest::{Context, controller};

struct Products;

#[controller("products")]
impl Products {
    #[post]
    fn bodies(a: String, b: Vec<u8>) -> String {
        format!("{a}{b:?}")
    }

    #[put]
    fn contexts(a: Context, b: &Context) -> String {
        format!("{a:?}{b:?}")
    }
}

fn main() {}
