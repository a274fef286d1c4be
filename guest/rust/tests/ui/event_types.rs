use pointwork_guest::{Delivery, Failure, channel, events};

events! {
    pub ById = "db:by-id": u64 => Option<String>;
    pub Viewed = "db:viewed": u64;
}

struct Db;

#[channel("db")]
impl Db {
    #[on(ById)]
    fn by_id(_delivery: &Delivery, id: String) -> Option<String> {
        Some(id)
    }

    #[on(Viewed)]
    fn viewed(_id: u64) -> u64 {
        7
    }
}

struct Results;

#[channel("db")]
impl Results {
    #[on(ById)]
    fn by_id(id: u64) -> Result<String, Failure> {
        Ok(id.to_string())
    }
}

fn main() {}
