use pointwork_guest::channel;

struct Db;

#[channel("db")]
impl Db {
    #[on]
    fn nothing() {}

    #[on()]
    fn empty() {}

    #[on = "all"]
    fn equals() {}

    #[on(7)]
    fn number() {}

    #[on("one", "two")]
    fn two() {}

    #[on("db:product:all")]
    fn prefixed() {}

    #[on("const")]
    const NAME: &'static str = "db";
}

fn main() {}
