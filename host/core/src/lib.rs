//! The heart of Pointwork, free of any HTTP server, executor and WebAssembly runtime: routing, the exchange of one
//! request, channels and their events, and the seam for adapters.
//!
//! Applications use the crate `pointwork`, which re-exports what they need. Adapters use this crate and their framework,
//! nothing else: an adapter implements [`Transport`], and answers each request with [`Router::respond`].

#![forbid(unsafe_code)]

pub mod adapter;
mod clock;
mod crash;
mod error;
pub mod events;
mod exchange;
mod executor;
mod failure;
mod failure_code;
mod failure_counts;
mod files;
pub mod limits;
mod memory;
mod request_id;
pub mod routing;
mod sharded;

pub use bytes;
pub use http;
pub use ipnet;

pub use adapter::application::{Application, ConnectOptions};
pub use adapter::server_options::{Http2Options, Protocols, ServerOptions};
pub use adapter::serving::Serving;
pub use adapter::transport::{Staged, Transport};
pub use clock::{Clock, Sleep, TimeSource, Timers, WakeTimer};
pub use crash::{CRASHED, Crash, CrashKind, SERVER_CHANNEL, ServerCrashed, panic_message};
pub use error::{Error, ErrorKind, causes, error_chain};
pub use events::Payload;
pub use events::bus::{Bus, StagedListeners};
pub use events::caller::{Caller, Delivery, Listener, Subscription};
pub use events::chain::{Chain, MAX_DEPTH, Nested};
pub use events::durable::channel::DurableFigures;
pub use events::durable::gate::Receipt;
pub use events::durable::options::{DurableOptions, Order, Pointer};
pub use events::durable::store::{
    DeadLetter, EventStore, Hold, RecordedEvent, Settled, StoreError, StoreFigures, TakenEvent,
};
pub use events::json::JSON;
pub use events::options::BusOptions;
pub use events::registry::ListenerName;
pub use events::reporter::Reporter;
pub use events::starting::StartGuard;
pub use exchange::body::{Body, BodyError, BodyWriter};
pub use exchange::body_reader::BodyReader;
pub use exchange::context::Context;
pub use exchange::durations::{DURATION_BUCKETS, RequestDurations, RouteDurations};
pub use exchange::forwarded::Peer;
pub use exchange::handler::{
    BodyMode, Handler, HandlerFuture, IntoReply, Json, Outcome, RequestLimits, error_reply, failure_reply,
};
pub use exchange::options::RouterOptions;
pub use exchange::request_memory::RequestMemory;
pub use exchange::router::{FoundRoute, Route, Router};
pub use exchange::state::{Audience, Extensions};
pub use executor::{BoxFuture, Executor, within};
pub use failure::Failure;
pub use failure_code::{Consequences, FailureCode, Fault};
pub use failure_counts::FailureCount;
pub use files::{open_file, read_file, read_text};
pub use memory::{Charge, MemoryAccount, MemoryExceeded};
pub use request_id::{REQUEST_ID_HEADER, RequestId};
pub use routing::{Origin, RouteRecord, is_unprintable, one_line, paragraph};
pub use sharded::{Shard, Sharded};
