use pointwork_guest::{Failure, Path, controller};

struct Pages;

#[controller("pages/:book")]
impl Pages {
    #[get([":page", "first"])]
    fn show(book: Option<Path<String>>, page: Option<Path<u32>>) -> String {
        format!("{book:?} {page:?}")
    }

    #[get("all")]
    fn all(page: Option<Path<u32>>, id: Result<Option<Path<u32>>, Failure>) -> String {
        format!("{page:?} {}", id.is_ok())
    }
}

fn main() {}
