//! The catalogue of a shop as a component.
//!
//! It listens to the same events as the SQLite statements and the driver `response` in `pointwork.toml`.
//! `components.toml` grants it one directory.

mod changes;
mod db;
mod error;
mod response;
mod seed;
mod store;
mod tables;

pub use db::Db;
pub use error::Error;
pub use response::Response;
pub use store::Store;

// Only one instance may have the file open. In the synchronous form it would handle one event at a time, and others
// would wait for a second instance until they are refused. In the asynchronous form the one instance gets all events.
// It handles them one after the other, since the listeners wait for nothing but the disk.
pointwork_guest::module! { async; channels: Db, Response }
