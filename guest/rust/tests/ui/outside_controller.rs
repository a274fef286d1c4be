use pointwork_guest::attributes::{get, post};

struct Files;

impl Files {
    #[get]
    fn list() {}

    #[post("a")]
    fn show(&self) {}
}

#[get]
fn free() {}

fn main() {}
