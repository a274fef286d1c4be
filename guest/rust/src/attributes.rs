//! The attributes of handlers, one for each method (spec D2) and `request_mapping`, and the attribute `on` of
//! listeners.
//!
//! They need no import inside an impl block with [`#[controller]`](crate::controller) or
//! [`#[channel]`](crate::channel). Imported and used anywhere else, they fail to compile with a message.
//!
//! The attribute of a handler takes no path (the route is the prefix itself), one path, or a list of paths, each a
//! route of its own (spec D3). A handler may have several attributes. Rust reserves `move`: write `#[r#move]` or
//! `#[move_]`.

pub use pointwork_guest_macros::{
    acl, all, connect, copy, delete, get, head, lock, mkcol, r#move, move_, on, options, patch, post, propfind,
    proppatch, purge, put, report, request_mapping, search, trace, unlock,
};
