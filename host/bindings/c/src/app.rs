//! The application: start, modules, callbacks, close.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::thread;

use pointwork_embed::{BodyMode, Component, Error, ErrorKind, Function, Host, RouteCall, RouteOptions, Runs, Threads};

use crate::answer::PwAnswer;
use crate::bytes::{PwBytes, PwDone, PwDrop, PwText, User, given, optional_text, owned, text};
use crate::error::{PwError, PwErrorKind, guard, guard_or, guard_value};
use crate::event::{PwCaller, PwEvent};
use crate::request::PwRequest;
use crate::waiting::{at_most, in_time, run};

/// The version of the functions and types of this header. A library of another version refuses to start.
pub const PW_ABI_VERSION: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

/// The version of the library, such as "0.2.0". PW_VERSION is that of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_version() -> *const c_char {
    VERSION.as_ptr()
}

/// An application with its threads.
#[derive(Debug)]
pub struct PwApp {
    pub(crate) host: Host,
}

/// Where a callback runs.
pub type PwRuns = i32;

/// On the thread that needs its answer: it must not block.
pub const PW_RUNS_INLINE: PwRuns = 0;

/// On a thread of a pool: it may block. A call takes 10 to 20 µs longer.
pub const PW_RUNS_BLOCKING: PwRuns = 1;

/// How a route takes the bodies of its requests.
pub type PwBodyMode = i32;

/// The callback is called when the whole body is there.
pub const PW_BODY_WHOLE: PwBodyMode = 0;

/// The callback is called at once, and reads the body as it arrives.
pub const PW_BODY_STREAM: PwBodyMode = 1;

/// Bodies are not read.
pub const PW_BODY_NONE: PwBodyMode = 2;

/// Gets an event of a channel. The event is borrowed until the callback returns. The answer is taken over: give it one
/// answer, now or later, and free it with pw_answer_free.
pub type PwOnEvent = Option<extern "C" fn(user: *mut c_void, event: &mut PwEvent, answer: Box<PwAnswer>)>;

/// Gets a request for a route. Both are taken over: free the request with pw_request_free, give the answer a reply, now
/// or later, and free it with pw_answer_free.
pub type PwOnRequest = Option<extern "C" fn(user: *mut c_void, request: Box<PwRequest>, answer: Box<PwAnswer>)>;

fn runs_of(runs: PwRuns) -> Result<Runs, Box<PwError>> {
    match runs {
        PW_RUNS_INLINE => Ok(Runs::Inline),
        PW_RUNS_BLOCKING => Ok(Runs::Blocking),
        _ => Err(PwError::argument("runs", "PW_RUNS_INLINE or PW_RUNS_BLOCKING")),
    }
}

/// The version of the ABI that the library has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_abi_version() -> u32 {
    PW_ABI_VERSION
}

/// The numbers of threads of an application; 0 is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PwThreads {
    /// The threads that serve connections and finish requests: one for each processor.
    pub workers: usize,
    /// The callbacks with PW_RUNS_BLOCKING that run at a time: 64. Further calls wait.
    pub blocking: usize,
}

/// Starts an application. `abi` is PW_ABI_VERSION. `settings` is a JSON object with the keys of pointwork.toml, such as
/// {"limits": {"memory": "64MiB"}}, or NULL for the defaults, as `threads` is. Free *app with pw_app_free.
///
/// Start it behind a fork, not before: a child gets PW_ERROR_KIND_FORKED from every function of an
/// application. What belongs to a request or an event of the parent has no effect in a child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_start(
    abi: u32,
    settings: PwText,
    threads: Option<&PwThreads>,
    app: Option<&mut MaybeUninit<Box<PwApp>>>,
) -> Option<Box<PwError>> {
    guard_value(app, "app", || {
        if abi != PW_ABI_VERSION {
            let message = format!("the program was compiled for version {abi} of the ABI, expected {PW_ABI_VERSION}");
            return Err(PwError::new(PwErrorKind::Abi, message));
        }
        let mut numbers = Threads::default();
        if let Some(threads) = threads {
            numbers.workers = Some(threads.workers).filter(|&number| number > 0);
            numbers.blocking = Some(threads.blocking).filter(|&number| number > 0);
        }
        let host = Host::of_settings(optional_text(settings, "settings")?.unwrap_or("{}"), &numbers)?;
        Ok(Box::new(PwApp { host }))
    })
}

/// Ends the application: its servers accept no more, requests and events in flight end within the setting
/// `shutdown-grace` of `limits`, the rest is cancelled, and all threads end. With `done` it returns at once; with NULL
/// it waits, and must not be called from a callback. The end is PW_ERROR_KIND_TIMED_OUT if it takes longer than
/// `timeout_ms`, 0 for no limit; the application ends all the same. It may be called by a function of atexit and by a
/// destructor of the program; in the callback of pw_log it waits for nothing, and is PW_ERROR_KIND_REFUSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_close(
    app: Option<&PwApp>,
    timeout_ms: u64,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let host = &given(app, "app")?.host;
        // In a child of a fork there is nothing that could end.
        host.app()?;
        let Some(done) = done else {
            return close(host, timeout_ms);
        };
        let (user, closing) = (User::new(user, None), host.clone());
        drop(host.close());
        let wait = move || done(user.pointer(), close(&closing, timeout_ms).err());
        let spawned = thread::Builder::new().name("pointwork-done".to_owned()).spawn(wait);
        let failed = |error| Error::new(ErrorKind::Engine, "a thread does not start").with_source(error);
        spawned.map(drop).map_err(|error| failed(error).into())
    })
}

fn close(host: &Host, timeout_ms: u64) -> Result<(), Box<PwError>> {
    in_time(host.close_blocking(at_most(timeout_ms))?, timeout_ms)
}

/// Frees an application; without pw_app_close the requests that were begun are cancelled. Mounts and servers of it may live
/// on. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_free(app: Option<Box<PwApp>>) {
    guard_or((), || {
        if let Some(app) = app {
            app.host.cancel_requests();
        }
    });
}

fn bytes(component: PwBytes) -> Result<Component, Box<PwError>> {
    Ok(Component::Bytes(component.get("component")?.to_vec().into()))
}

fn file(path: PwText) -> Result<Component, Box<PwError>> {
    Ok(Component::File(text(path, "path")?.into()))
}

fn load(
    app: Option<&PwApp>,
    name: PwText,
    component: Result<Component, Box<PwError>>,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Result<(), Box<PwError>> {
    let (host, name) = (&given(app, "app")?.host, text(name, "name")?);
    let options = host.module_options(name, optional_text(options, "options")?.unwrap_or("{}"))?;
    run(host, host.load(name, component?, options), 0, done, user)
}

fn swap(
    app: Option<&PwApp>,
    name: PwText,
    component: Result<Component, Box<PwError>>,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Result<(), Box<PwError>> {
    let (host, name) = (&given(app, "app")?.host, text(name, "name")?);
    let options = optional_text(options, "options")?;
    let options = options.map(|options| host.module_options(name, options)).transpose()?;
    run(host, host.swap(name, component?, options), 0, done, user)
}

/// Loads a module. `component` is copied. `options` is a JSON object with the keys of `[[module]]` in pointwork.toml,
/// such as {"memory": "64MiB", "grant": {"clocks": true}}, or NULL. Without `done` it waits for the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_load(
    app: Option<&PwApp>,
    name: PwText,
    component: PwBytes,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| load(app, name, bytes(component), options, done, user))
}

/// As pw_app_load, with the path of the component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_load_file(
    app: Option<&PwApp>,
    name: PwText,
    path: PwText,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| load(app, name, file(path), options, done, user))
}

/// Swaps the component of a module without losing a request. Without `options` the module keeps its own. Otherwise as
/// pw_app_load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_swap(
    app: Option<&PwApp>,
    name: PwText,
    component: PwBytes,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| swap(app, name, bytes(component), options, done, user))
}

/// As pw_app_swap, with the path of the component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_swap_file(
    app: Option<&PwApp>,
    name: PwText,
    path: PwText,
    options: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| swap(app, name, file(path), options, done, user))
}

/// Makes the version before the last swap current again. Without `done` it waits for the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_roll_back(
    app: Option<&PwApp>,
    name: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let host = &given(app, "app")?.host;
        run(host, host.roll_back(text(name, "name")?), 0, done, user)
    })
}

/// Removes a module; calls in flight end on it. Without `done` it waits for the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_remove(
    app: Option<&PwApp>,
    name: PwText,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let host = &given(app, "app")?.host;
        run(host, host.remove(text(name, "name")?), 0, done, user)
    })
}

/// The routes as a JSON array, in the order of registration. Free *json with pw_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_routes(
    app: Option<&PwApp>,
    json: Option<&mut MaybeUninit<*mut c_char>>,
) -> Option<Box<PwError>> {
    guard_value(json, "json", || {
        let app = given(app, "app")?;
        Ok(owned(&app.host.routes_json()?))
    })
}

/// The modules as a JSON array, in the order loaded. Free *json with pw_text_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_modules(
    app: Option<&PwApp>,
    json: Option<&mut MaybeUninit<*mut c_char>>,
) -> Option<Box<PwError>> {
    guard_value(json, "json", || {
        let app = given(app, "app")?;
        Ok(owned(&app.host.modules_json()?))
    })
}

/// Figures of an application.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PwFigures {
    /// The number of registered routes.
    pub routes: usize,
    /// The number of requests without their whole reply so far.
    pub requests_in_flight: usize,
    /// The number of emitted events that nobody got, since the start: without a listener, or with a full queue.
    pub events_refused: u64,
}

/// Writes the figures of an application to *figures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_figures(
    app: Option<&PwApp>,
    figures: Option<&mut MaybeUninit<PwFigures>>,
) -> Option<Box<PwError>> {
    guard_value(figures, "figures", || {
        let app = given(app, "app")?;
        let now = app.host.figures()?;
        Ok(PwFigures {
            routes: now.routes,
            requests_in_flight: now.requests_in_flight,
            events_refused: now.events_refused,
        })
    })
}

/// Sets the prefix of every route that is registered from now on, such as "/api", and of every module that no mount and
/// no server serves yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_set_prefix(app: Option<&PwApp>, prefix: PwText) -> Option<Box<PwError>> {
    guard(|| {
        let app = given(app, "app")?.host.app()?;
        app.set_global_prefix(text(prefix, "prefix")?).map_err(Error::from)?;
        Ok(())
    })
}

/// Binds a callback to an event of a channel. The channel "server" has the events of the server itself, such as
/// "crashed" and "swapped". If it is refused, `drop` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_listen(
    app: Option<&PwApp>,
    channel: PwText,
    event: PwText,
    runs: PwRuns,
    callback: PwOnEvent,
    user: *mut c_void,
    drop: PwDrop,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let host = &given(app, "app")?.host;
        let callback = given(callback, "callback")?;
        let weak = host.downgrade();
        let function = Function::new(move |event, answer| {
            // Without an application nobody waits for the answer.
            if let Some(host) = weak.upgrade() {
                let mut event = PwEvent::new(event, &host);
                callback(user.pointer(), &mut event, PwAnswer::of_event(answer, &host));
            }
        });
        host.listen(
            text(channel, "channel")?,
            text(event, "event")?,
            function.runs(runs_of(runs)?),
        )?;
        Ok(())
    })
}

/// Registers a callback for a route, such as "GET" and "/products/:id"; NULL is every method. If it is refused, `drop`
/// is called.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "one function of C for one operation")]
pub unsafe extern "C" fn pw_app_route(
    app: Option<&PwApp>,
    method: PwText,
    path: PwText,
    body: PwBodyMode,
    runs: PwRuns,
    callback: PwOnRequest,
    user: *mut c_void,
    drop: PwDrop,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let host = &given(app, "app")?.host;
        let callback = given(callback, "callback")?;
        let weak = host.downgrade();
        let function = Function::new(move |call: RouteCall, answer| {
            // Without an application nobody waits for the answer.
            if let Some(host) = weak.upgrade() {
                let request = PwRequest::of_context(call.context, &host);
                callback(user.pointer(), request, PwAnswer::of_request(answer, &host));
            }
        });
        let options = RouteOptions::default().body(match body {
            PW_BODY_WHOLE => BodyMode::Whole,
            PW_BODY_STREAM => BodyMode::Stream,
            PW_BODY_NONE => BodyMode::None,
            _ => {
                return Err(PwError::argument(
                    "body",
                    "PW_BODY_WHOLE, PW_BODY_STREAM or PW_BODY_NONE",
                ));
            }
        });
        let method = optional_text(method, "method")?;
        host.route(method, text(path, "path")?, options, function.runs(runs_of(runs)?))?;
        Ok(())
    })
}

/// Calls and emits events from outside of any request. Free *caller with pw_caller_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_caller(
    app: Option<&PwApp>,
    caller: Option<&mut MaybeUninit<Box<PwCaller>>>,
) -> Option<Box<PwError>> {
    guard_value(caller, "caller", || {
        let host = &given(app, "app")?.host;
        Ok(PwCaller::new(host.app()?.caller(), host))
    })
}
