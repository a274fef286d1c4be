use pointwork_guest::{Event, channel, events};

events! {
    pub All = "db:product:all": () => u32;
}

struct Odd;

impl Event for Odd {
    const NAME: &'static str = "db:odd name";
    type Payload = ();
    type Output = ();
}

struct NoEvent;

struct Db;

#[channel("db")]
impl Db {
    #[on("")]
    fn empty() {}

    #[on("product::all")]
    fn empty_part() {}

    #[on("product all")]
    fn space() {}

    #[on(Odd)]
    fn odd() {}
}

struct Twice;

#[channel("db")]
impl Twice {
    #[on("product:all")]
    fn all() -> u32 {
        7
    }

    #[on(All)]
    fn all_again() -> u32 {
        7
    }
}

struct Untyped;

#[channel("db")]
impl Untyped {
    #[on(NoEvent)]
    fn none() {}
}

fn main() {}
