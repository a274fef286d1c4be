//! A synchronous module of controllers and channels that uses every feature of channels, for the behaviour suite.

mod channels;
mod events;
mod shop;

pub use channels::{Audit, Db, Response, Server};
pub use events::*;
pub use shop::Shop;

pointwork_guest::module! { Shop; channels: Db, Response, Audit, Server }
