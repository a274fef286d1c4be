//! Native unit tests of controllers and channels, without a host. Enable the feature `testing` in `[dev-dependencies]`.
//!
//! A [`TestRequest`] finds its handler by method and path, from the routes that the host would read, so a test covers
//! the attribute as well as the function. Closures are the listeners of events. Handlers of both forms run.
//!
//! ```
//! use pointwork_guest::testing::TestRequest;
//! use pointwork_guest::{Context, Failure, HttpStatus, Path, controller, events};
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
//!     fn show(ctx: &Context, id: Path<u64>) -> Result<String, Failure> {
//!         match ctx.emit::<Viewed>(*id).call::<NameOf>(*id)? {
//!             Some(name) => Ok(name),
//!             None => Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product").detail("id", *id)),
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
//! assert_eq!(answer.text(), r#"{"id":8,"message":"no such product"}"#);
//!
//! let answer = TestRequest::get("/products/x").run::<Products>();
//! assert_eq!(answer.message(), Some("path parameter `id`: invalid digit found in string, got `x`"));
//! ```
//!
//! A [`TestEvent`] finds its listener in the same way. For a listener that replies instead of a controller, the event
//! carries the context of a request, and the [`Reaction`] contains the reply.
//!
//! ```
//! use pointwork_guest::testing::{TestEvent, TestRequest};
//! use pointwork_guest::{Context, Delivery, Failure, HttpStatus, channel, events};
//!
//! events! {
//!     pub NameOf = "db:product:name": u64 => String;
//!     pub Missed = "audit:missed": u64;
//!     pub Send = "response:send": String;
//! }
//!
//! struct Db;
//!
//! #[channel("db")]
//! impl Db {
//!     #[on(NameOf)]
//!     fn name_of(delivery: &Delivery, id: u64) -> Result<String, Failure> {
//!         match id {
//!             7 => Ok("tea".into()),
//!             _ => {
//!                 delivery.emit::<Missed>(id);
//!                 Err(Failure::new(HttpStatus::NOT_FOUND, "no such product"))
//!             }
//!         }
//!     }
//! }
//!
//! struct Response;
//!
//! #[channel("response")]
//! impl Response {
//!     #[on(Send)]
//!     fn send(context: Context, text: String) -> Result<(), Failure> {
//!         context.send(text)
//!     }
//! }
//!
//! let reaction = TestEvent::new::<NameOf>(7).run::<Db>();
//! assert_eq!(reaction.output::<NameOf>(), "tea");
//!
//! let reaction = TestEvent::new::<NameOf>(8).run::<Db>();
//! assert_eq!(reaction.failure().map(Failure::status), Some(404));
//! assert_eq!(reaction.emitted::<Missed>(), [8]);
//!
//! let reaction = TestEvent::new::<Send>("tea".into()).with_context(TestRequest::get("/products/7")).run::<Response>();
//! assert_eq!(reaction.reply().text(), "tea");
//! ```
//!
//! The variables of the module, which [`Variables`](trait@crate::Variables) reads, are those of the test:
//!
//! ```
//! use pointwork_guest::testing::TestRequest;
//! use pointwork_guest::{Variables, controller};
//!
//! #[derive(Variables)]
//! struct Settings {
//!     page_size: u32,
//! }
//!
//! struct Products;
//!
//! #[controller("products")]
//! impl Products {
//!     #[get]
//!     fn list(settings: Settings) -> String {
//!         format!("{} on each page", settings.page_size)
//!     }
//! }
//!
//! let answer = TestRequest::get("/products").variable("PAGE_SIZE", "20").run::<Products>();
//! assert_eq!(answer.text(), "20 on each page");
//! let answer = TestRequest::get("/products").variable("PAGE_SIZE", "many").run::<Products>();
//! assert_eq!(answer.status(), 500);
//! ```
//!
//! A reply that a host refuses, such as one with the status 999, is 500 `invalid-reply` here as well. There are no limits, no
//! middleware, no other modules, and replies are not sanitised. Test the replies that clients get against a running host.

mod answer;
mod event;
mod events;
mod flow;
mod reaction;
mod request;
mod routing;

use std::future::Future;
use std::pin::pin;
use std::task::{Context as Task, Poll, Waker};

pub use answer::Answer;
pub use event::TestEvent;
pub use flow::TestFlow;
pub use reaction::Reaction;
pub use request::TestRequest;

/// Natively, nothing of this crate waits, so a future is ready at once or never.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut task = Task::from_waker(Waker::noop());
    match pin!(future).poll(&mut task) {
        Poll::Ready(value) => value,
        Poll::Pending => {
            panic!("the code under test awaits a future that is not of this crate, which nothing here wakes")
        }
    }
}
