use pointwork_guest::{AsyncDelivery, channel, module};

struct NoChannel;

struct Waiting;

#[channel("waiting")]
impl Waiting {
    #[on("long")]
    async fn long(_delivery: &AsyncDelivery) {}
}

module! { channels: NoChannel }

module! { channels: Waiting }

module! { channels: }

fn main() {}
