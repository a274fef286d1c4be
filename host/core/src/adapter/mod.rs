//! The seam between the core and an adapter.

pub(crate) mod published;
pub(crate) mod server_options;
pub(crate) mod serving;
pub(crate) mod transport;
