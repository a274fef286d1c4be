//! The attributes of handlers, one for each method (spec D2), and `request_mapping`; and `on`, the one of listeners.
//!
//! Inside an impl block with [`#[controller]`](crate::controller) or [`#[channel]`](crate::channel) they need no import:
//! the block reads them itself. They are here so that one which stands anywhere else says so.
//!
//! Those of handlers take no path (the prefix itself), one path, or a list of paths, where each entry is a route of its
//! own (spec D3). A handler may have several attributes. Rust reserves `move`: write `#[r#move]` or `#[move_]`.

pub use pointwork_guest_macros::{
    acl, all, connect, copy, delete, get, head, lock, mkcol, r#move, move_, on, options, patch, post, propfind,
    proppatch, purge, put, report, request_mapping, search, trace, unlock,
};
