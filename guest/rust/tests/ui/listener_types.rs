use pointwork_guest::{Context, Payload, channel};
use serde::Deserialize;

struct Unreadable;

#[derive(Deserialize)]
struct Unwritable;

struct NoFailure;

struct Db;

#[channel("db")]
impl Db {
    #[on("takes")]
    fn takes(what: Unreadable) {
        let _ = what;
    }
}

struct Returns;

#[channel("db")]
impl Returns {
    #[on("returns")]
    fn returns(what: Unwritable) -> Unwritable {
        what
    }
}

struct Fails;

#[channel("db")]
impl Fails {
    #[on("fails")]
    fn fails() -> Result<(), NoFailure> {
        Err(NoFailure)
    }
}

struct TooMuch;

#[channel("db")]
impl TooMuch {
    #[on("payloads")]
    fn payloads(_one: u64, _other: Payload) {}

    #[on("contexts")]
    fn contexts(_one: Context, _other: Option<Context>) {}
}

fn main() {}
