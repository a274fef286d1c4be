use pointwork_guest::channel;

struct Db;

#[channel]
impl Db {
    #[on("unnamed")]
    fn unnamed() {}
}

struct Empty;

#[channel("")]
impl Empty {
    #[on("all")]
    fn all() {}
}

struct Parted;

#[channel("db:product")]
impl Parted {
    #[on("all")]
    fn all() {}
}

struct Spaced;

#[channel("my db")]
impl Spaced {
    #[on("all")]
    fn all() {}
}

struct Two;

#[channel("one", "two")]
impl Two {
    #[on("all")]
    fn all() {}
}

#[channel("free")]
fn free() {}

struct Silent;

#[channel("silent")]
impl Silent {
    fn helper() {}
}

fn main() {}
