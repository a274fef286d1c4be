//! The exports of a module, which `module!` declares under the names of the contract.
//!
//! Their parameters are core values: a number, the handle of a context or delivery, and the words of a payload.

use wit_bindgen::rt;
use wit_bindgen::rt::async_support::{TaskCancelOnDrop, start_task};

use super::module::{AsyncModule, BlockingModule, DeclaredChannel, Module};
use super::output;
use crate::abi::{Lift as _, Lower as _, give, lower_all, take_back};
use crate::backend;
use crate::bindings::types;
use crate::bindings::types::{Manifest, Property};
use crate::context::Context;
use crate::controller::Metadata;
use crate::delivery::Delivery;
use crate::failure::Failure;
use crate::reply::Outcome;
use crate::variables::schema;
use pointwork_events::Payload;

type Delivered = Result<types::Payload, types::Failure>;

/// The words of the results.
const MANIFEST: usize = Manifest::SIZE / 4;
const OUTCOME: usize = types::Outcome::SIZE / 4;
const DELIVERED: usize = Delivered::SIZE / 4;

/// Prepares the instance; every export calls it first.
fn begin() {
    rt::run_ctors_once();
    rt::maybe_link_cabi_realloc();
    super::panic::set_hook();
}

fn outcome(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Reply(reply) => match reply.into_raw() {
            Ok(reply) => types::Outcome::Reply(reply),
            Err(invalid) => types::Outcome::Thrown(invalid.into()),
        },
        Outcome::Thrown(failure) => types::Outcome::Thrown(failure.into()),
        Outcome::Deferred => types::Outcome::Deferred,
    }
}

fn delivered(result: Result<Payload, Failure>) -> Delivered {
    result.map(Into::into).map_err(Into::into)
}

/// Takes the ownership of a context.
fn context<F>(handle: u32) -> Context<F> {
    // SAFETY: the host passes the handle to one call of an export.
    Context::new(unsafe { backend::Context::from_handle(handle) })
}

fn delivery<F>(handle: u32) -> Delivery<F> {
    // SAFETY: as for a context.
    Delivery::new(unsafe { backend::Delivery::from_handle(handle) })
}

/// Takes the ownership of a payload.
fn payload(words: [u32; 5]) -> Payload {
    // SAFETY: the host passes the words of a payload, which are those of one in memory.
    unsafe { types::Payload::load(words.as_ptr().cast()) }.into()
}

/// A module that tells the host what it declares.
///
/// `module!` declares a [`Module`], whose declarations are constants. A module that learns its declarations at run time implements
/// this trait instead.
pub trait Describe {
    fn manifest() -> Manifest;
}

impl<M: Module> Describe for M {
    fn manifest() -> Manifest {
        manifest::<M>()
    }
}

pub fn describe<M: Describe>() -> *mut u8 {
    begin();
    let manifest = M::manifest();
    output::flush();
    give::<Manifest, MANIFEST>(manifest)
}

/// # Safety
///
/// `result` is from `describe`, and given back once.
pub unsafe fn after_describe(result: *mut u8) {
    // SAFETY: as for this function.
    unsafe { take_back::<Manifest, MANIFEST>(result) }
}

pub fn handle<M: BlockingModule>(handler: u32, handle: u32) -> *mut u8 {
    begin();
    let outcome = outcome(M::handle(handler, context(handle)));
    output::flush();
    give::<types::Outcome, OUTCOME>(outcome)
}

/// # Safety
///
/// `result` is from `handle`, and given back once.
pub unsafe fn after_handle(result: *mut u8) {
    // SAFETY: as for this function.
    unsafe { take_back::<types::Outcome, OUTCOME>(result) }
}

pub fn deliver<M: BlockingModule>(listener: u32, handle: u32, words: [u32; 5]) -> *mut u8 {
    begin();
    let delivered = delivered(M::deliver(listener, delivery(handle), payload(words)));
    output::flush();
    give::<Delivered, DELIVERED>(delivered)
}

/// # Safety
///
/// `result` is from `deliver`, and given back once.
pub unsafe fn after_deliver(result: *mut u8) {
    // SAFETY: as for this function.
    unsafe { take_back::<Delivered, DELIVERED>(result) }
}

/// Ends an asynchronous call with its result.
macro_rules! task_return {
    ($module:literal $link:literal [$($word:ident)*] $value:expr) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn task_return($($word: u32),*);
        }
        let value = $value;
        let ([$($word),*], _lists) = lower_all!(value);
        // SAFETY: the host reads the words during the call.
        unsafe { task_return($($word),*) };
    }};
}

pub fn handle_async<M: AsyncModule>(handler: u32, handle: u32) -> i32 {
    begin();
    start_task(output::flushed(async move {
        let cancel = TaskCancelOnDrop::new();
        let value = outcome(M::handle(handler, context(handle)).await);
        cancel.forget();
        // The host ends the lines of the call with it.
        output::flush();
        task_return!(
            "[export]pointwork:module/handlers-async@0.2.0" "[task-return]handle"
            [w0 w1 w2 w3 w4 w5 w6 w7 w8] value
        );
    }))
}

pub fn deliver_async<M: AsyncModule>(listener: u32, handle: u32, words: [u32; 5]) -> i32 {
    begin();
    let payload = payload(words);
    start_task(output::flushed(async move {
        let cancel = TaskCancelOnDrop::new();
        let value = delivered(M::deliver(listener, delivery(handle), payload).await);
        cancel.forget();
        // The host ends the lines of the call with it.
        output::flush();
        task_return!(
            "[export]pointwork:module/listeners-async@0.2.0" "[task-return]deliver"
            [w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10] value
        );
    }))
}

pub use wit_bindgen::rt::async_support::callback;

fn manifest<M: Module>() -> Manifest {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let [name, version, description] = M::PACKAGE.map(|value| value.and_then(text));
    let description = description.map(|value| property("description", &value));
    let mut metadata: Vec<_> = description.into_iter().collect();
    // A module without variables does not link what writes their schema.
    if !M::VARIABLES.is_empty() {
        metadata.push(property("variables-schema", &schema(M::VARIABLES)));
    }
    Manifest {
        name,
        version,
        sdk: concat!("pointwork-guest ", env!("CARGO_PKG_VERSION")).to_owned(),
        language: "rust".to_owned(),
        controllers: controllers::<M>(),
        channels: channels(M::CHANNELS),
        events_used: events_used::<M>(),
        metadata,
    }
}

/// Sorted, each name once. A general sort would be a sixth of a small module.
fn events_used<M: Module>() -> Vec<String> {
    let mut sorted: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if let Err(at) = sorted.binary_search_by(|other| other.as_str().cmp(name)) {
            sorted.insert(at, name.to_owned());
        }
    };
    let mut add_all = |declared: &[Option<&str>]| declared.iter().flatten().for_each(|name| add(name));
    M::CONTROLLERS
        .iter()
        .for_each(|controller| add_all(controller.events_used));
    M::CHANNELS.iter().for_each(|channel| add_all(channel.events_used));
    M::GUARDS.iter().for_each(|guard| add_all(guard.events_used));
    M::EVENTS_USED.iter().for_each(|name| add(name));
    sorted
}

fn controllers<M: Module>() -> Vec<types::Controller> {
    let mut first = 0;
    let controllers = M::CONTROLLERS.iter().map(|controller| {
        let routes = controller.routes.iter().map(|route| types::Route {
            handler: first + route.handler,
            name: route.name.to_owned(),
            method: route.method.map(str::to_owned),
            paths: route.paths.iter().map(|&path| path.to_owned()).collect(),
            body: route.body.to_owned(),
            metadata: route_metadata::<M>(route.metadata),
        });
        let routes = routes.collect();
        first += controller.handlers;
        types::Controller {
            name: controller.name.to_owned(),
            prefix: controller.prefix.to_owned(),
            routes,
            metadata: metadata(controller.metadata),
        }
    });
    controllers.collect()
}

/// The guards and hooks of the module are those of each route.
fn route_metadata<M: Module>(declared: Metadata) -> Vec<Property> {
    let mut all = Vec::new();
    let add_own = |all: &mut Vec<_>, key| {
        for declared in M::GUARDS.iter().filter(|declared| declared.key == key) {
            all.push(property(declared.key, declared.shown_in(M::PATH)));
        }
    };
    add_own(&mut all, "guard");
    all.append(&mut metadata(declared));
    add_own(&mut all, "after");
    all
}

fn channels(declared: &[DeclaredChannel]) -> Vec<types::Channel> {
    let mut first = 0;
    let channels = declared.iter().map(|channel| {
        let listeners = channel.events.iter().map(|listener| types::Listener {
            listener: first + listener.listener,
            name: listener.name.to_owned(),
            event: listener.event.to_owned(),
            metadata: metadata(listener.metadata),
        });
        let listeners = listeners.collect();
        first += channel.listeners;
        types::Channel {
            name: channel.name.to_owned(),
            listeners,
            metadata: metadata(channel.metadata),
        }
    });
    channels.collect()
}

fn metadata(declared: Metadata) -> Vec<Property> {
    declared.iter().map(|&(name, value)| property(name, value)).collect()
}

fn property(name: &str, value: &str) -> Property {
    Property {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Declares the exports of a form, and the section that describes its world.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (blocking) => {
        $crate::__export! { @ MODULE "component-type:pointwork:module"
            "pointwork:module/manifest@0.2.0#describe" => describe::<Module>() -> *mut u8;
            "pointwork:module/handlers@0.2.0#handle" => handle::<Module>(handler: u32, context: u32) -> *mut u8;
            "pointwork:module/listeners@0.2.0#deliver" => deliver::<Module>(
                listener: u32, delivery: u32, [w0 w1 w2 w3 w4]
            ) -> *mut u8;
        }
        $crate::__export! { @ after
            "cabi_post_pointwork:module/manifest@0.2.0#describe" => after_describe;
            "cabi_post_pointwork:module/handlers@0.2.0#handle" => after_handle;
            "cabi_post_pointwork:module/listeners@0.2.0#deliver" => after_deliver;
        }
    };
    (asynchronous) => {
        $crate::__export! { @ MODULE_ASYNC "component-type:pointwork:module-async"
            "pointwork:module/manifest@0.2.0#describe" => describe::<Module>() -> *mut u8;
            "[async-lift]pointwork:module/handlers-async@0.2.0#handle" => handle_async::<Module>(
                handler: u32, context: u32
            ) -> i32;
            "[async-lift]pointwork:module/listeners-async@0.2.0#deliver" => deliver_async::<Module>(
                listener: u32, delivery: u32, [w0 w1 w2 w3 w4]
            ) -> i32;
        }
        $crate::__export! { @ after "cabi_post_pointwork:module/manifest@0.2.0#describe" => after_describe; }
        $crate::__export! { @ callback
            "[callback][async-lift]pointwork:module/handlers-async@0.2.0#handle"
            "[callback][async-lift]pointwork:module/listeners-async@0.2.0#deliver"
        }
    };
    (@ after $($name:literal => $function:ident;)*) => {
        $(const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn after(result: *mut u8) {
                // SAFETY: the host gives the result back once.
                unsafe { $crate::__private::exports::$function(result) }
            }
        };)*
    };
    (@ callback $($name:literal)*) => {
        $(const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn callback(event: u32, waitable: u32, code: u32) -> u32 {
                // SAFETY: the host calls it for a task that has begun.
                unsafe { $crate::__private::exports::callback(event, waitable, code) }
            }
        };)*
    };
    (@ $world:ident $section:literal $($name:literal => $function:ident::<Module>(
        $($argument:ident: $ty:ty),* $(, [$($word:ident)*])?
    ) -> $result:ty;)*) => {
        // Not `#[used]`, which would put a copy into the memory of the module.
        #[allow(dead_code, reason = "the section is read, not the static")]
        #[unsafe(link_section = $section)]
        static SECTION: [u8; $crate::bindings::worlds::$world.len()] = $crate::bindings::worlds::$world;

        $(const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn export($($argument: $ty,)* $($($word: u32),*)?) -> $result {
                $crate::__private::exports::$function::<Module>($($argument,)* $([$($word),*])?)
            }
        };)*
    };
}
