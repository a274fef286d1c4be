//! The smallest controller and channel that read something, for the minimum size and imports of a module.
//!
//! One package for all kinds of modules: without features a controller, with `channel` a channel, with `full` both; with
//! `async` in the asynchronous form.

#[cfg(not(feature = "channel"))]
mod controller;

#[cfg(any(feature = "channel", feature = "full"))]
mod channel;

#[cfg(any(feature = "channel", feature = "full"))]
use channel::Names;
#[cfg(not(feature = "channel"))]
use controller::Products;
use pointwork_guest::module;

#[cfg(not(any(feature = "async", feature = "channel", feature = "full")))]
module! { Products }

#[cfg(all(feature = "async", not(any(feature = "channel", feature = "full"))))]
module! { async; Products }

#[cfg(all(feature = "channel", not(feature = "async")))]
module! { channels: Names }

#[cfg(all(feature = "channel", feature = "async"))]
module! { async; channels: Names }

#[cfg(all(feature = "full", not(feature = "async")))]
module! { Products; channels: Names }

#[cfg(all(feature = "full", feature = "async"))]
module! { async; Products; channels: Names }
