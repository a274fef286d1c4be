//! The events between the shop, the mail service and its database, with their types.

use pointwork_events::events;
use serde::{Deserialize, Serialize};

#[derive(Clone, Deserialize, Serialize)]
pub struct Order {
    /// Chosen by the client, so that an order that is sent twice is one.
    pub id: u64,
    pub item: String,
    pub to: String,
}

/// A mail that was sent.
#[derive(Deserialize, Serialize)]
pub struct Mail {
    /// The id of the event.
    pub event: String,
    pub to: String,
    pub text: String,
}

events! {
    pub OrderPlaced = "mail:order": Order;
    pub RecordMail = "db:record": Mail => Option<u64>;
    pub Mails = "db:mails": () => Vec<Mail>;
}
