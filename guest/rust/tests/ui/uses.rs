use pointwork_guest::{controller, module};

struct Health;

#[controller("health")]
impl Health {
    #[get]
    fn show() -> &'static str {
        ""
    }
}

struct NoEvent;

module! { Health; uses: NoEvent }

mod wrong_name {
    use super::Health;

    pointwork_guest::module! { Health; uses: "audit seen" }
}

fn main() {}
