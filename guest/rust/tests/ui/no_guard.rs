use pointwork_guest::{controller, module};

struct NoGuard;

struct Shop;

#[controller("shop", guard = NoGuard)]
impl Shop {
    #[get]
    fn show() -> &'static str {
        ""
    }
}

struct Carts;

#[controller("carts")]
impl Carts {
    #[get]
    #[guard(NoGuard)]
    fn show() -> &'static str {
        ""
    }

    #[get("hook")]
    #[after(NoGuard)]
    fn hook() -> &'static str {
        ""
    }
}

module! { Shop, Carts }

fn main() {}
