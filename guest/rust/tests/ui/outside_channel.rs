use pointwork_guest::attributes::on;

struct Db;

impl Db {
    #[on("all")]
    fn all() {}
}

fn main() {}
