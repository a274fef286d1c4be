//! The number of allocations of a request, for each kind of request. The test's thread polls the request to its end,
//! without tokio, so that only the request's own allocations are counted. One of them is the text of the id that the reply
//! carries; a request with an id of its own saves it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use http::{HeaderValue, Request};
use pointwork::{App, AppOptions, Body, Context, Delivery, Failure, Payload};
use pointwork_suite::app::usual_options;
use pointwork_suite::guest::{Controller, Guest, Program, Step};
use tokio::task::unconstrained;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{NoSubscriber, with_default};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::trials;

trials! {
    the_allocations_of_a_request_are_as_counted,
    a_request_makes_no_span_and_no_line_unless_they_are_wanted,
}

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread may allocate after its counter is destroyed.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The usual number of allocations of a request: the first ones fill caches and make instances, and one that a busy machine
/// interrupts goes on on other threads, where its allocations are not counted.
fn allocations(app: &App, path: &str, body: &'static str, id: Option<&'static str>) -> Result<usize> {
    let mut requests = BTreeMap::<usize, usize>::new();
    for _ in 0..50 {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let request = Request::builder().method(method).uri(path).header("host", "test");
        let mut request = request.body(Body::from(body))?;
        if let Some(id) = id {
            request
                .headers_mut()
                .insert("x-request-id", HeaderValue::from_static(id));
        }
        // Other tests collect the log, which allocates.
        let count = with_default(NoSubscriber::default(), || {
            let before = ALLOCATIONS.get();
            // The test is a task of tokio, whose budget ends otherwise.
            let reply = futures_executor::block_on(unconstrained(app.handle(request)));
            let count = ALLOCATIONS.get() - before;
            drop(reply);
            count
        });
        *requests.entry(count).or_default() += 1;
    }
    let usual = requests.into_iter().max_by_key(|(_, requests)| *requests);
    Ok(usual.map_or(0, |(count, _)| count))
}

/// The modules of the application, one for each form, with their names.
pub(crate) fn modules() -> [(&'static str, Vec<u8>); 2] {
    let guest = |prefix: &str| {
        Guest::with(
            Controller::new("Wasm", prefix)
                .get(":id", Program::new().param("id"))
                .get(":id/call", Program::new().call("quiet:hear"))
                .get(":id/emit", Program::new().emit("quiet:hear"))
                .post("body", Program::new().step(Step::Body)),
        )
    };
    [
        ("wasm", guest("wasm").build()),
        ("async", guest("async").asynchronous().build()),
    ]
}

/// An application with handlers and these modules, which listens to `quiet:hear`.
pub(crate) async fn application<B: AsRef<[u8]>>(
    options: AppOptions,
    modules: impl IntoIterator<Item = (&str, B)>,
) -> Result<App> {
    let app = App::with_options(options)?;
    app.get("/native/:id", |ctx: Context| async move {
        ctx.param("id").map(str::to_owned)
    })?;
    app.get("/native/:id/call", |ctx: Context| async move {
        ctx.call_raw("quiet:hear", Payload::null()).await.map(|_| "called")
    })?;
    app.post("/native/body", |ctx: Context| async move { ctx.bytes().await })?;
    app.channel("quiet").on_raw("hear", |_: Delivery, _: Payload| async {
        Ok::<_, Failure>(Payload::null())
    })?;
    for (name, component) in modules {
        app.module(name).bytes(component.as_ref()).load().await?;
    }
    Ok(app)
}

async fn the_allocations_of_a_request_are_as_counted() -> Result<()> {
    let app = application(usual_options(), modules()).await?;
    let mut complaints = Vec::new();
    for (kind, path, body, expected) in [
        ("no route", "/nowhere", "", 6),
        ("native handler", "/native/42", "", 7),
        ("native handler that calls an event", "/native/42/call", "", 8),
        ("native handler that returns the body", "/native/body", "text", 5),
        ("handler of a module", "/wasm/42", "", 13),
        ("handler of a module that calls an event", "/wasm/42/call", "", 17),
        ("handler of a module that emits an event", "/wasm/42/emit", "", 13),
        ("handler of a module that returns the body", "/wasm/body", "text", 12),
        ("asynchronous handler", "/async/42", "", 26),
        ("asynchronous handler that calls an event", "/async/42/call", "", 33),
        ("asynchronous handler that emits an event", "/async/42/emit", "", 26),
        ("asynchronous handler that returns the body", "/async/body", "text", 28),
    ] {
        for (id, expected) in [(None, expected), (Some("mine-1"), expected - 1)] {
            // On a busy machine a thread of the guests may run call after call, since it finds the next one before it rests.
            let mut count = allocations(&app, path, body, id)?;
            for _ in 0..20 {
                if count == expected {
                    break;
                }
                count = allocations(&app, path, body, id)?;
            }
            if count != expected {
                complaints.push(format!("{kind}, id {id:?}: {count} allocations, expected {expected}"));
            }
        }
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}

/// Takes every span and line of Pointwork, and counts them.
#[derive(Clone, Default)]
struct Taking(Arc<AtomicUsize>);

impl Subscriber for Taking {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("pointwork") && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.0.fetch_add(1, Ordering::Relaxed);
        Id::from_u64(1)
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn a_request_makes_no_span_and_no_line_unless_they_are_wanted() -> Result<()> {
    for (wanted, of_a_handler, of_none) in [(false, 0, 0), (true, 2, 1)] {
        let mut options = usual_options();
        options.router.access_log = wanted;
        let app = application(options, modules()).await?;
        for (path, expected) in [
            ("/nowhere", of_none),
            ("/native/42", of_a_handler),
            ("/native/42/call", of_a_handler),
            ("/wasm/42", of_a_handler),
            ("/wasm/42/call", of_a_handler),
        ] {
            let request = || Request::get(path).header("host", "test").body(Body::empty());
            // The first one may warn of something that the module does not declare.
            app.handle(request()?).await;
            let request = request()?;
            let taking = Taking::default();
            with_default(taking.clone(), || futures_executor::block_on(app.handle(request)));
            let count = taking.0.load(Ordering::Relaxed);
            ensure!(
                count == expected,
                "{path}, wanted {wanted}: {count}, expected {expected}"
            );
        }
    }
    Ok(())
}
