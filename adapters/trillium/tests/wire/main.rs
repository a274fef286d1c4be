//! Adapter B seen from the wire: native handlers behind a real socket.

#![allow(missing_docs, unreachable_pub)]

mod client;
mod closing;
mod exactness;
mod http2;
mod keep_alive;
mod limits;
mod methods;
mod mounting;
mod native;
mod refusals;
mod serving;
mod streams;
mod subject;
mod timeouts;
