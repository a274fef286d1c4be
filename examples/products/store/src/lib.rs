//! The catalogue of a shop as a component.
//!
//! It answers the events that `pointwork.toml` ties to statements on SQLite and to the driver `response`, and the
//! controllers cannot tell which of the two does. What it may reach is what `components.toml` grants it: one directory.

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

// Only one instance may have the file open, and in the synchronous form an instance is taken by one event at a time: the
// others would wait for another instance that never comes, and be refused in the end. In the asynchronous form all
// events go to the one instance, which hears them in turn, since no listener here waits for anything but the disk.
pointwork_guest::module! { async; channels: Db, Response }
