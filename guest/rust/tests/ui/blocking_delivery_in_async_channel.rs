use pointwork_guest::{Delivery, channel};

struct Db;

#[channel("db")]
impl Db {
    #[on("all")]
    async fn all(_delivery: Delivery) {}
}

fn main() {}
