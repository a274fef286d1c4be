//! The language-neutral core of the bindings: [Pointwork](pointwork) embedded in a program of any language.
//!
//! A [`Host`] is an application with the threads that it needs. A binding gives it functions of its language for channels
//! and routes, loads modules, and has it [answer requests](Mount::handle) of a server of that language, or
//! [serve](Host::serve) by itself.
//!
//! # The rule for functions of another language
//!
//! A guest runs on a stack of its own. A Go, Java or Node.js runtime ends the process when it is called there. So every
//! function, destructor, waker and log hook of the host's language runs where no guest is on the stack of the thread, by
//! [`pointwork::off_fiber`]; what this crate is given does so by itself: [`Function`], [`OffFiber`], [`Chunks::next`], the
//! ends of requests and operations, and [`write_log`].
//!
//! # The caller drives
//!
//! [`Host::handle`] and [`Mount::handle`] poll a request on the calling thread. Most requests are answered there. One that
//! has to wait goes on on the threads of the application once it is woken, and ends by a call of a function, exactly once.
//!
//! ```
//! use pointwork_embed::{AppOptions, Function, Host, Payload, Place, Progress, Threads};
//! use pointwork_embed::http::Request;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::start(AppOptions::new(), &Threads::default())?;
//! let name = Function::new(|event: pointwork_embed::EventCall, answer| {
//!     let _ = answer.send(Ok(Payload::json("Ada").expect("a text")));
//!     drop(event);
//! });
//! host.listen("db", "name", name)?;
//! let mount = host.mount("example", Place::Everything, None)?;
//! let request = Request::get("/nowhere").header("host", "localhost").body("".into())?;
//! match mount.handle(request, |_| {})? {
//!     Progress::Ready(reply) => assert_eq!(reply.status(), 404),
//!     other => unreachable!("no handler waits: {other:?}"),
//! }
//! # Ok(())
//! # }
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "the waits of callers of another language are in processes that a test starts"
)]

mod body;
mod channel;
mod close;
mod error;
pub mod flat;
mod fork;
mod function;
mod host;
mod log;
mod mount;
mod nesting;
mod request;
mod route;
mod server;
mod threads;
mod waiting;

pub use body::{Chunk, Chunks, Source};
pub use channel::{ChannelFunction, EventCall, Fault, with_details};
pub use error::{Error, ErrorKind};
pub use function::{Answer, AnswerCell, AnswerError, Function, OffFiber, Runs};
pub use host::{Component, Figures, Host, WeakHost, within};
pub use log::{LogLine, write_log};
pub use mount::{Accepted, Mount};
pub use nesting::{at_depth, call, depth};
pub use pointwork::{
    App, AppOptions, Body, BodyMode, Caller, Change, Context, Failure, FailureCode, ModuleInfo, ModuleLimits,
    ModuleOptions, Payload, Peer, bytes, http, off_fiber, on_fiber,
};
pub use pointwork_core::adapter::Place;
pub use request::{Ended, InFlight, Progress};
pub use route::{RouteCall, RouteFunction, RouteOptions};
pub use server::{Server, ServerOptions};
pub use threads::Threads;
pub use tracing::Level;
pub use waiting::Waiting;
