//! One request, from its arrival to its reply.

pub(crate) mod body;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod options;
pub(crate) mod reply;
pub(crate) mod reply_cell;
pub(crate) mod router;
