//! The event map: what the module hears, and what it expects somebody else to hear.

use pointwork_guest::events;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the shop sells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
}

events! {
    /// One product, if there is one of that id.
    pub ProductById = "db:product:by-id": u64 => Option<Product>;
    /// Calls itself so many times, and returns how many calls it was.
    pub Nest = "db:nest": u32 => u32;
    /// Traps.
    pub Trap = "db:trap": () => ();
    /// Fails with a code of its own.
    pub Fail = "db:fail": () => ();
    /// Asks whoever answers for the application.
    pub Ask = "db:ask": String => String;
    /// Replies with the text.
    pub Send = "response:send": String;
    /// Takes the context and never replies.
    pub Silent = "response:silent": String;
    /// Replies twice.
    pub Twice = "response:twice": String;
    /// Notes a text.
    pub Note = "audit:note": String => ();
    /// Something of the server's broke.
    pub Crashed = "server:crashed": Value;
}

events! {
    /// Answers a question; not of this module.
    pub Answer = "app:answer": String => String;
    /// A text was noted; not of this module.
    pub Noted = "app:noted": String => ();
    /// A crash was heard, as it came; not of this module.
    pub CrashHeard = "app:crashed": Value => ();
}
