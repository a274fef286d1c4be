use pointwork_guest::{AsyncDelivery, channel, module};

struct NoChannel;

struct Waiting;

#[channel("waiting")]
impl Waiting {
    #[on("long")]
    async fn long(_delivery: &AsyncDelivery) {}
}

module! { channels: NoChannel, Waiting }

mod empty {
    pointwork_guest::module! { channels: }
}

fn main() {}
