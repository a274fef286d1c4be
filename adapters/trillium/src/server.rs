//! The adapter's own server: trillium's, on sockets that keep what it lacks.

mod accept;
mod alarm;
mod chunks;
mod connections;
mod endpoint;
mod frames;
mod framing;
mod head;
mod http2;
mod incoming;
mod io;
mod linger;
pub(crate) mod link;
mod listener;
mod runtime;
mod serving;
mod streams;

pub(crate) use serving::run;
