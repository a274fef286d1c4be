//! What a lookup may allocate: nothing, as long as the path has no escapes and no refusal has to be put together.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use http::{Method, Uri};
use pointwork_core::routing::{MethodFilter, Owner, Pattern, Resolution, RouteEntry, Table, TableOptions};

thread_local! {
    /// Of this thread alone, since the test harness allocates in its own.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it came; counting touches a plain cell and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn table() -> Table<()> {
    let paths = (0..1_000)
        .map(|number| format!("/r{number}/:a/x/:b"))
        .chain(["/*rest".to_owned(), "/:p/y".to_owned()]);
    let entries = paths.map(|path| RouteEntry {
        filter: MethodFilter::Only(Method::GET),
        pattern: Pattern::parse(&path).unwrap(),
        owner: Owner::Manual,
        target: (),
    });
    Table::compile(entries.collect(), TableOptions::default()).unwrap()
}

/// A target as a server has it: a slice of its read buffer.
fn received(target: &str) -> Uri {
    let buffer = Bytes::from(format!("GET {target} HTTP/1.1"));
    let uri = Uri::from_maybe_shared(buffer.slice(4..4 + target.len())).unwrap();
    drop(buffer);
    uri
}

#[test]
fn a_path_without_escapes_is_matched_without_an_allocation() {
    let table = table();
    let hints: Vec<_> = std::iter::once(None)
        .chain(table.shapes().iter().map(|shape| Some(shape.id())))
        .collect();
    for target in ["/r999/1/x/2?q=1", "/r7/1/x/y/z", "/r7/y", "/", "//"] {
        let uri = received(target);
        for method in [Method::GET, Method::HEAD] {
            // The first request of a thread makes its shard of the route.
            drop(table.resolve(None, &method, &uri));
            for hint in &hints {
                let before = ALLOCATIONS.get();
                let resolution = table.resolve(*hint, &method, &uri);
                if let Resolution::Matched { params, .. } = &resolution {
                    assert_eq!(params.clone().get("b"), params.get("b"));
                }
                assert_eq!(ALLOCATIONS.get() - before, 0, "{method} {target} {resolution:?}");
            }
        }
    }
}
