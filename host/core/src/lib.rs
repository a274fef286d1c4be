//! The heart of Pointwork, free of any HTTP server, executor and WebAssembly runtime: routing, the exchange of one
//! request, channels and their events, and the seam for adapters.
//!
//! Applications use the crate `pointwork`, which re-exports what they need. Adapters use this crate and their framework,
//! nothing else: an adapter implements [`Transport`], and answers each request with [`Router::respond`].

mod body;
mod bus;
mod chain;
mod channel;
mod context;
mod crash;
mod drive;
mod error;
mod executor;
mod failure;
mod payload;
mod published;
mod queue;
mod reply;
mod request_id;
mod router;
pub mod routing;
mod server_options;
mod serving;
mod slot;
mod transport;

pub use bytes;
pub use http;
pub use pointwork_events as events;

pub use body::{Body, BodyError, BodyReader, BodyWriter};
pub use bus::{Bus, BusOptions, StagedListeners};
pub use chain::{Chain, MAX_DEPTH};
pub use channel::{Caller, Delivery, Listener, Subscription};
pub use context::{Context, Extensions};
pub use crash::{CRASHED, Crash, CrashKind, Reporter, SERVER_CHANNEL, ServerCrashed};
pub use error::{Error, ErrorKind};
pub use executor::{BoxFuture, Executor};
pub use failure::{Failure, FailureCode};
pub use payload::{JSON, Payload};
pub use published::Published;
pub use reply::{IntoReply, Json, Outcome, error_reply};
pub use request_id::{REQUEST_ID_HEADER, RequestId};
pub use router::{Handler, HandlerFuture, Origin, RequestLimits, Route, RouteRecord, Router, RouterOptions};
pub use server_options::{Http2Options, Protocols, ServerOptions};
pub use serving::Serving;
pub use transport::{Staged, Transport};
