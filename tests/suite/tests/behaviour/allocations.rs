//! The number of allocations of a request, for each kind of request. The test's thread polls the request to its end,
//! without tokio, so that only the request's own allocations are counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use anyhow::{Result, ensure};
use http::Request;
use pointwork::{App, Body, Context, Delivery, Failure, Payload};
use pointwork_core::Router;
use pointwork_suite::guest::{Controller, Guest, Program};
use tracing::subscriber::{NoSubscriber, with_default};

use crate::{direct, trials};

trials! {
    the_allocations_of_a_request_are_as_counted,
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

/// The fewest allocations of ten requests: the first ones fill caches and make instances.
fn allocations(router: &Arc<Router>, path: &str) -> Result<usize> {
    let mut least = usize::MAX;
    for _ in 0..10 {
        let request = Request::get(path).header("host", "test").body(Body::empty())?;
        // Other tests collect the log, which allocates.
        let count = with_default(NoSubscriber::default(), || {
            let before = ALLOCATIONS.get();
            let reply = futures_executor::block_on(router.respond(None, request));
            let count = ALLOCATIONS.get() - before;
            drop(reply);
            count
        });
        least = least.min(count);
    }
    Ok(least)
}

async fn the_allocations_of_a_request_are_as_counted() -> Result<()> {
    let app = App::new()?;
    app.get("/native/:id", |ctx: Context| async move {
        ctx.param("id").map(str::to_owned)
    })?;
    app.get("/native/:id/call", |ctx: Context| async move {
        ctx.call_raw("quiet:hear", Payload::null()).await.map(|_| "called")
    })?;
    app.channel("quiet").on_raw("hear", |_: Delivery, _: Payload| async {
        Ok::<_, Failure>(Payload::null())
    })?;
    let guest = Guest::of(
        Controller::new("Wasm", "wasm")
            .get(":id", Program::new().param("id"))
            .get(":id/call", Program::new().call("quiet:hear")),
    );
    app.load("wasm", guest.build()).await?;
    let router = direct::router(&app)?;
    let mut complaints = Vec::new();
    for (kind, path, expected) in [
        ("no route", "/nowhere", 5),
        ("native handler", "/native/42", 6),
        ("native handler that calls an event", "/native/42/call", 7),
        ("handler of a module", "/wasm/42", 14),
        ("handler of a module that calls an event", "/wasm/42/call", 20),
    ] {
        let count = allocations(&router, path)?;
        if count != expected {
            complaints.push(format!("{kind}: {count} allocations, expected {expected}"));
        }
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    Ok(())
}
