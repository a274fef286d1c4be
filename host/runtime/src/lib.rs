//! Serve HTTP controllers compiled to sandboxed WebAssembly components.
//!
//! An [`App`] holds modules, native channels and manual routes, and is served by the adapters that it is connected to:
//! `pointwork-hyper` and its siblings. The router's rules are in [`routing`], the contract with modules in the WIT
//! package `pointwork:module`.

mod app;
mod binder;
mod bindings;
mod call;
mod changes;
mod channel;
mod compile;
mod compiler;
mod concurrent;
mod conduct;
mod digest;
mod engine;
mod error;
mod executor;
mod grants;
mod guest;
mod inspect;
mod keep;
mod lanes;
mod levels;
mod limiter;
mod lint;
mod module;
mod offload;
mod options;
mod reply;
mod sequential;
mod status;
mod tally;
mod template;

pub use app::{App, ConnectOptions, Settings};
pub use changes::{Change, ChangeKind, Refusal, RouteChanges, ServerRefused, ServerSwapped};
pub use channel::Channel;
pub use compiler::{Worker, work as compile_worker};
pub use digest::digest;
pub use error::{Error, ErrorKind};
pub use grants::{Access, Capability, Directory, Grants};
pub use inspect::{Fit, Form, Inspection, inspect};
pub use keep::{CacheDirectory, StateDirectory, Version};
pub use module::{ChannelInfo, ModuleInfo};
pub use options::{AppOptions, Breaker, CompileOptions, Isolation, ModuleLimits, ModuleOptions, Trial};
pub use status::{Draining, ModuleState, ModuleStatus, Usage};

pub use pointwork_core::{
    Body, BodyError, BodyReader, BodyWriter, Bus, BusOptions, Caller, Context, Crash, CrashKind, Delivery, Extensions,
    Failure, FailureCode, Handler, HandlerFuture, IntoReply, Json, Listener, Origin, Outcome, Payload, RequestId,
    RouteRecord, RouterOptions, ServerCrashed, Staged, Subscription, Transport, bytes, events, http, routing,
};
