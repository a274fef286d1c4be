//! Unit tests of a controller, natively and without a host. Behind the feature `testing`; meant for
//! `[dev-dependencies]`.
//!
//! A [`TestRequest`] finds its handler by method and path through the declarations that the host would read, so a test
//! covers the attribute as well as the function. Events are answered by closures. Handlers of either form run.
//!
//! ```
//! use pointwork_guest::testing::TestRequest;
//! use pointwork_guest::{Context, HttpStatus, Path, Throw, controller, events};
//!
//! events! {
//!     pub NameOf = "db:product:name": u64 => Option<String>;
//!     pub Viewed = "product:viewed": u64;
//! }
//!
//! struct Products;
//!
//! #[controller("products")]
//! impl Products {
//!     #[get(":id")]
//!     fn show(ctx: &Context, id: Path<u64>) -> Result<String, Throw> {
//!         match ctx.emit::<Viewed>(*id).call::<NameOf>(*id)? {
//!             Some(name) => Ok(name),
//!             None => ctx.throw(HttpStatus::NOT_FOUND, "no such product"),
//!         }
//!     }
//! }
//!
//! let answer = TestRequest::get("/products/7").on::<NameOf>(|id| (id == 7).then(|| "tea".into())).run::<Products>();
//! assert_eq!(answer.text(), "tea");
//! assert_eq!(answer.emitted::<Viewed>(), [7]);
//!
//! let answer = TestRequest::get("/products/8").on::<NameOf>(|_| None).run::<Products>();
//! assert_eq!((answer.status(), answer.message()), (404, Some("no such product")));
//!
//! let answer = TestRequest::get("/products/x").run::<Products>();
//! assert_eq!(answer.message(), Some("path parameter `id`: invalid digit found in string, got `x`"));
//! ```
//!
//! It stands in for the host as far as a controller can see, and no further: no limits, no middleware, no other modules,
//! no clean-up of replies. What a client gets is for a test against a running host.

mod answer;
mod request;
mod routing;

pub use answer::Answer;
pub use request::TestRequest;
