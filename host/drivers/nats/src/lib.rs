//! Pointwork's channels over NATS: the store `nats` of durable channels, in JetStream, and the driver `nats`, which calls listeners in
//! other processes.
//!
//! # What is kept
//!
//! An event is kept when JetStream has acknowledged its publish. An acknowledgement comes before the server's disk is synchronised,
//! unless the server has `sync_interval: always`. The number of an attempt is the server's: one that is killed forgets the last ones.
//!
//! # Names in the server
//!
//! For the prefix `shop` and the channel `mail`:
//!
//! | what | name |
//! |---|---|
//! | events that wait | the stream `shop-events-mail`, subjects `shop.events.mail.PARTITION`, a consumer for each partition |
//! | dead letters | the stream `shop-dead-mail`, subjects `shop.dead.mail.ID` |
//! | calls | subjects `shop.call.mail.EVENT`, the queue group `pointwork` |
//!
//! An id begins with its channel; the channel is put before that of a program that does not know. Letters, digits and `-` stay; any other byte of a name is `_` and two hex digits.
//!
//! # Messages
//!
//! CloudEvents 1.0 in binary mode, with percent-encoding in the headers `ce-…` as over HTTP: the payload as it is, with the headers `ce-id`, `ce-type` (`channel:event`), `content-type`,
//! `ce-depth`, `ce-requestid`, `traceparent` where the request had one, and for a call `ce-time-left` in milliseconds. The answer of a failure has `pointwork-code` and
//! `pointwork-status`, and a JSON object with `message`, `details` and `headers`.

#![forbid(unsafe_code)]

mod channel;
mod connection;
mod envelope;
mod lane;
mod names;
mod publishers;
mod remote;
mod serve;
mod store;

pub use self::connection::{Connection, NatsOptions};
pub use self::remote::RemoteListener;
pub use self::store::NatsStore;
