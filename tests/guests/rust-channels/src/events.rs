//! The event map: events of this module, and events that other modules or the host listen to.

use pointwork_guest::{Payload, events};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A product of the shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
}

events! {
    /// The product of that id, if there is one.
    pub ProductById = "db:product:by-id": u64 => Option<Product>;
    /// Calls itself that number of times, and returns the number of calls.
    pub Nest = "db:nest": u32 => u32;
    /// The picture of that id: bytes with a content type.
    pub Picture = "db:picture": u64 => Payload;
    /// Looks at a picture: its content type and its size.
    pub Look = "db:look": Payload => (String, usize);
    /// Traps.
    pub Trap = "db:trap": () => ();
    /// Fails with a code of its own.
    pub Fail = "db:fail": () => ();
    /// Calls the channel that answers for the application.
    pub Ask = "db:ask": String => String;
    /// Replies with the text.
    pub Send = "response:send": String;
    /// Takes the context and never replies.
    pub Silent = "response:silent": String;
    /// Replies twice.
    pub Twice = "response:twice": String;
    /// Notes a text.
    pub Note = "audit:note": String => ();
    /// An error of the server.
    pub Crashed = "server:crashed": Value;
}

events! {
    /// Answers a question. Another module listens to it.
    pub Answer = "app:answer": String => String;
    /// A text was noted. Another module listens to it.
    pub Noted = "app:noted": String => ();
    /// A crash was reported. Another module listens to it.
    pub CrashHeard = "app:crashed": Value => ();
}
