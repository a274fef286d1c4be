//! Serve HTTP controllers compiled to sandboxed WebAssembly components.
//!
//! An [`App`] holds modules, native channels and manual routes, and is served by the adapters that it is connected to:
//! `pointwork-hyper` and its siblings. The router's rules are in [`routing`], the contract with modules in the WIT
//! package `pointwork:module`.
//!
//! # Debug builds
//!
//! An application compiles its modules with wasmtime, which is slow in a debug build: a small module takes seconds. Have its
//! compiler optimised in the Cargo.toml of your workspace, and nothing else:
//!
//! ```toml
//! [profile.dev.package]
//! cranelift-bforest.opt-level = 1
//! cranelift-codegen.opt-level = 1
//! cranelift-entity.opt-level = 1
//! cranelift-frontend.opt-level = 1
//! regalloc2.opt-level = 1
//! wasmparser.opt-level = 1
//! wasmtime.opt-level = 1
//! wasmtime-environ.opt-level = 1
//! wasmtime-internal-cranelift.opt-level = 1
//! ```
//!
//! A debug build that takes long logs these lines once. With [`AppOptions::cache`](field@AppOptions::cache) a component is
//! compiled once for all starts.

mod app;
mod call_counts;
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
mod variables;
mod worker;

/// Fuzz targets.
#[cfg(fuzzing)]
pub mod fuzz {
    /// The declarations of a module.
    pub fn manifest(input: &[u8]) {
        crate::component::manifest::fuzz::manifest(input);
    }

    /// An entry of the cache of compiled components.
    pub fn cache_entry(input: &[u8]) {
        crate::store::cache::fuzz::cache_entry(input);
    }
}

pub use app::binder::check_module_name;
pub use app::builder::ModuleBuilder;
pub use app::changes::{Change, ChangeKind, Diff, Refusal, ServerChanged, ServerRefused};
pub use app::channel::{Channel, ListenerResult};
pub use app::info::{ChannelInfo, ControllerInfo, HandlerInfo, ListenerInfo};
pub use app::module::ModuleInfo;
pub use app::options::AppOptions;
pub use app::status::{Draining, ModuleStatus, RestoreFailure};
pub use app::{App, AppSettings};
pub use component::compiler::work as compile_worker;
pub use component::inspect::{Form, Inspection, inspect};
pub use digest::digest;
use error::OrError;
pub use error::{Error, ErrorKind};
pub use grants::{Access, Capability, Directory, Grants};
pub use limits::{Breaker, CompileOptions, Isolation, ModuleLimits, ModuleOptions, Trial};
pub use scheduling::fibers::{blocking, is_polled_again, off_fiber, on_fiber};
pub use scheduling::status::{HeldBack, HeldBackState, ModuleState, Usage};
pub use store::{CacheDirectory, RecordedVersions, StateDirectory};
pub use variables::Variables;
pub use worker::Worker;

pub use pointwork_core::limits::{Amount, Limit, LimitError, Limits};
pub use pointwork_core::{
    Application, Body, BodyError, BodyMode, BodyReader, BodyWriter, Bus, BusOptions, Caller, Clock, ConnectOptions,
    Context, Crash, CrashKind, DURATION_BUCKETS, DeadLetter, Delivery, DurableFigures, DurableOptions, EventStore,
    Extensions, Failure, FailureCode, FoundRoute, Handler, HandlerFuture, Hold, IntoReply, Json, Listener, Order,
    Origin, Outcome, Payload, Peer, Pointer, Receipt, RecordedEvent, RequestDurations, RequestId, RouteDurations,
    RouteRecord, RouterOptions, SERVER_CHANNEL, ServerCrashed, Settled, Sleep, Staged, StoreError, StoreFigures,
    Subscription, TakenEvent, TimeSource, Transport, bytes, events, http, ipnet, routing,
};
