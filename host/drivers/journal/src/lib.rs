//! The store `sqlite` of Pointwork's durable channels: one file on one machine.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use pointwork::{App, DurableOptions, Payload};
//! use pointwork_journal::{Journal, JournalOptions};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("events.sqlite");
//! let journal = Arc::new(Journal::open(JournalOptions::new().path(path))?);
//! let app = App::new()?;
//! let (sent, received) = std::sync::mpsc::channel();
//! app.channel("mail").on_raw("order", move |delivery: pointwork::Delivery, _| {
//!     let _ = sent.send(delivery.attempt());
//!     async { Ok(Payload::null()) }
//! })?;
//! app.make_durable("mail", DurableOptions::new(), journal)?;
//!
//! app.caller().emit_raw("mail:order", Payload::null());
//! assert_eq!(received.recv_timeout(Duration::from_secs(10))?, 1);
//! # app.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What is kept
//!
//! An event is kept when its transaction is on the disk: the write-ahead log is synchronised (`synchronous = FULL`) before the
//! event is confirmed. Events that are emitted while a transaction is written share the next one. The end of an event, and the
//! number of its attempts, survive the end of the process, and may be lost when the machine loses power: the event is
//! delivered again then.
//!
//! # Bounds
//!
//! The file grows to [`JournalOptions::max_size`]; after that, events are refused until others are settled. One process
//! has the file; a second one is refused.

#![forbid(unsafe_code)]

mod database;
mod journal;
mod operation;
mod schema;
mod writer;

pub use self::journal::{Journal, JournalOptions};
