//! Serve HTTP controllers compiled to sandboxed WebAssembly components.
//!
//! An [`App`] holds modules, native channels and manual routes, and is served by the adapters that it is connected to:
//! `pointwork-hyper` and its siblings. The router's rules are in [`routing`], the contract with modules in the WIT
//! package `pointwork:module`.

mod app;
mod component;
mod digest;
mod error;
mod grants;
mod guest;
mod instance;
mod limits;
mod scheduling;
mod setters;
mod store;
mod worker;

pub use app::builder::ModuleBuilder;
pub use app::changes::{Change, ChangeKind, Diff, Refusal, ServerRefused, ServerSwapped};
pub use app::channel::{Channel, ListenerResult};
pub use app::info::{ChannelInfo, ControllerInfo, HandlerInfo, ListenerInfo};
pub use app::module::ModuleInfo;
pub use app::options::AppOptions;
pub use app::status::{Draining, ModuleStatus};
pub use app::{App, Settings};
pub use component::compiler::work as compile_worker;
pub use component::inspect::{Conformance, Form, Inspection, inspect};
pub use digest::digest;
use error::OrError;
pub use error::{Error, ErrorKind};
pub use grants::{Access, Capability, Directory, Grants};
pub use limits::{Breaker, CompileOptions, Isolation, ModuleLimits, ModuleOptions, Trial};
pub use scheduling::status::{ModuleState, Usage};
pub use store::{CacheDirectory, StateDirectory, Version};
pub use worker::Worker;

pub use pointwork_core::limits::{Amount, Limit, LimitError, Limits};
pub use pointwork_core::{
    Application, Body, BodyError, BodyMode, BodyReader, BodyWriter, Bus, BusOptions, Caller, Claim, ConnectOptions,
    Context, Crash, CrashKind, DURATION_BUCKETS, Delivery, Extensions, Failure, FailureCode, Handler, HandlerFuture,
    IntoReply, Json, Listener, Origin, Outcome, Payload, Peer, RequestDurations, RequestId, RouteDurations,
    RouteRecord, RouterOptions, ServerCrashed, Staged, Subscription, Transport, bytes, events, http, ipnet, routing,
};
