use pointwork_guest::module;

struct NoController;

module! {}

module! { NoController }

fn main() {}
