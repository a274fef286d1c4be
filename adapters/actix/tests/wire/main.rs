//! Adapter C seen from the wire: native handlers behind a real socket.

#![allow(missing_docs, unreachable_pub)]

mod client;
mod closing;
mod exactness;
mod keep_alive;
mod limits;
mod mounting;
mod native;
mod requests;
mod serving;
mod streams;
mod subject;
mod timeouts;
