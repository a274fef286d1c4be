use pointwork_guest::module;

struct NoController;

mod empty {
    pointwork_guest::module! {}
}

module! { NoController }

fn main() {}
