//! The attributes of handlers, one for each method and `request_mapping`, and the attribute `on` of
//! listeners.
//!
//! They need no import inside an impl block with [`#[controller]`](crate::controller) or
//! [`#[channel]`](crate::channel). Imported and used anywhere else, they fail to compile with a message.
//!
//! The attribute of a handler takes no path (the route is the prefix itself), one path, or a list of paths, each a
//! route of its own. A handler may have several attributes. Rust reserves `move`: write `#[r#move]` or
//! `#[move_]`.
//!
//! `body = "…"` at the end says how the handler takes the request body:
//!
//! | mode | the handler runs | the body |
//! |---|---|---|
//! | `none` | at once | is not read; a handler that takes it as an argument does not compile |
//! | `whole`, the default | when the host has the whole body | one over the host's limit is refused with 413, and the handler does not run |
//! | `stream` | at once | arrives while the handler runs: [`open_body`](crate::Context::open_body) reads it in chunks |
//!
//! ```
//! use pointwork_guest::{Context, Failure, controller};
//!
//! struct Uploads;
//!
//! #[controller("uploads")]
//! impl Uploads {
//!     #[post("size", body = "stream")]
//!     fn size(ctx: &Context) -> Result<String, Failure> {
//!         let (body, mut size) = (ctx.open_body()?, 0);
//!         while let Some(chunk) = body.read(64 * 1024)? {
//!             size += chunk.len();
//!         }
//!         Ok(size.to_string())
//!     }
//! }
//! ```

pub use pointwork_guest_macros::{
    acl, all, connect, copy, delete, get, head, lock, mkcol, r#move, move_, on, options, patch, post, propfind,
    proppatch, purge, put, report, request_mapping, search, trace, unlock,
};
