//! The promises of durable channels: a history of what was emitted, confirmed and delivered, the rules for it, a store in memory whose
//! answers a test decides, and a server of NATS behind a proxy with faults.

#![forbid(unsafe_code)]

pub mod history;
pub mod memory;
pub mod proxy;
pub mod server;
pub mod world;
