use pointwork_guest::{channel, events, module};

events! {
    pub Created = "db:created": u64;
}

struct Db;

#[channel("db")]
impl Db {
    #[on(Create)]
    fn created(_id: u64) {}
}

module! { channels: Db }

fn main() {}
