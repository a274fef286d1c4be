//! Serve HTTP controllers compiled to sandboxed WebAssembly components.
//!
//! An [`App`] holds modules, native channels and manual routes, and is served by the adapters that it is connected to:
//! `pointwork-hyper` and its siblings. The router's rules are in [`routing`], the contract with modules in the WIT
//! package `pointwork:module`.

mod app;
mod binder;
mod bindings;
mod call;
mod channel;
mod compile;
mod concurrent;
mod engine;
mod error;
mod executor;
mod grants;
mod guest;
mod inspect;
mod levels;
mod lint;
mod module;
mod offload;
mod options;
mod reply;
mod sequential;
mod template;

pub use app::{App, ConnectOptions, Settings};
pub use channel::Channel;
pub use error::{Error, ErrorKind};
pub use grants::{Access, Capability, Directory, Grants};
pub use inspect::{Fit, Form, Inspection, inspect};
pub use module::{ChannelInfo, ModuleInfo};
pub use options::{AppOptions, ModuleLimits, ModuleOptions};

pub use pointwork_core::{
    Body, BodyError, BodyReader, BodyWriter, Bus, BusOptions, Caller, Context, Crash, CrashKind, Delivery, Extensions,
    Failure, FailureCode, Handler, HandlerFuture, IntoReply, Json, Listener, Origin, Outcome, Payload, RequestId,
    RouteRecord, RouterOptions, ServerCrashed, Staged, Subscription, Transport, bytes, events, http, routing,
};
