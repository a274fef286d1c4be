//! The exchange of one request for one reply.

pub(crate) mod body;
pub(crate) mod body_reader;
pub(crate) mod context;
mod dispatch;
pub(crate) mod durations;
mod end_gate;
mod failed_request;
pub(crate) mod finish;
pub(crate) mod forwarded;
pub(crate) mod handler;
mod json_body;
pub(crate) mod options;
mod pace;
mod reply_cell;
pub(crate) mod request_memory;
pub(crate) mod router;
pub(crate) mod state;
