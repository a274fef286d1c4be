//! Adapter D seen from the wire: native handlers behind a real socket.
//!
//! What the shared server decides by itself is tested with bare hyper; here is what salvo could make different.

#![allow(missing_docs, unreachable_pub)]

mod client;
mod closing;
mod exactness;
mod http2;
mod keep_alive;
mod limits;
mod middleware;
mod mounting;
mod routing;
mod serving;
mod streams;
mod subject;
mod timeouts;
mod user;
