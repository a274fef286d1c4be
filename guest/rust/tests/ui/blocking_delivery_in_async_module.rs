use pointwork_guest::{Delivery, Failure, channel, events, module};

events! { pub Stock = "store:stock": String => u32; }

struct Db;

#[channel("db")]
impl Db {
    #[on("echo")]
    fn echo(text: String) -> String {
        text
    }

    #[on("in-stock")]
    fn in_stock(delivery: &Delivery, name: String) -> Result<bool, Failure> {
        Ok(delivery.call::<Stock>(name)? > 0)
    }
}

module! { async; channels: Db }

fn main() {}
