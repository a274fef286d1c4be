//! The threads that requests run on, and what they cost.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use pointwork_embed::{Body, Level, Payload, Progress, write_log};
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};

use crate::stack;
use crate::world::{Said, asking, get, host, listener, load, request, send, text};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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
fn allocations(host: &pointwork_embed::Host, path: &str) -> usize {
    let one = |_| {
        let mut request = request("GET", path, Body::empty());
        let id = pointwork_embed::http::HeaderValue::from_static("a-0001");
        request.headers_mut().insert("x-request-id", id);
        let before = ALLOCATIONS.get();
        let progress = host.handle(request, |_| {}).unwrap();
        let count = ALLOCATIONS.get() - before;
        matches!(progress, Progress::Ready(_)).then_some(count)
    };
    let counts: Vec<_> = (0..50).filter_map(one).collect();
    let times = |count: &&usize| counts.iter().filter(|other| other == count).count();
    *counts.iter().max_by_key(times).expect("one is answered at once")
}

#[test]
fn the_allocations_of_a_request_are_as_counted() {
    let host = host();
    host.listen(
        "db",
        "ask",
        listener(|_, answer| answer.send(Ok(Payload::null())).unwrap()),
    )
    .unwrap();
    load(&host, "threads", &asking());
    let (plain, asks) = (allocations(&host, "/plain"), allocations(&host, "/ask"));
    // In process and by the runtime alone a request of a module takes 8: one box is ours. A function takes its question in a box,
    // the channel for its answer, the work behind the guest, and whether that has begun.
    assert_eq!((plain, asks - plain), (9, 11));
}

/// How often the threads of this process with that beginning of their names went to sleep. What another process takes of the
/// processor does not count.
fn wake_ups(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::path::PathBuf| {
        let own = std::fs::read_to_string(task.join("comm")).ok()?.starts_with(name);
        let status = std::fs::read_to_string(task.join("status")).ok().filter(|_| own)?;
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse::<u64>().ok()
    };
    tasks.filter_map(|task| of(task.unwrap().path())).sum()
}

#[test]
fn an_asynchronous_module_runs_on_the_thread_of_its_caller() {
    if std::env::var_os("EMBED_COUNTS_WAKE_UPS").is_none() {
        // In a process of its own: other tests have such threads too.
        let name = "threads::an_asynchronous_module_runs_on_the_thread_of_its_caller";
        let program = std::env::current_exe().unwrap();
        let mut alone = std::process::Command::new(program);
        let status = alone
            .args(["--exact", name, "--nocapture"])
            .env("EMBED_COUNTS_WAKE_UPS", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let host = host();
    let function = listener(|_, answer| answer.send(Ok(Payload::json("heard").unwrap())).unwrap());
    host.listen("db", "ask", function).unwrap();
    load(&host, "threads", &asking().asynchronous());
    for (path, expected) in [("/plain", "plain"), ("/ask", "\"heard\"")] {
        let is_at_once = |_: &u32| match send(&host, request("GET", path, Body::empty())) {
            (Progress::Ready(reply), _) => {
                assert_eq!(text(reply), expected);
                true
            }
            (_, ending) => {
                assert_eq!(text(ending.reply()), expected);
                false
            }
        };
        let _first = (0..10).filter(is_at_once).count();
        let before = (wake_ups("pointwork-guest"), wake_ups("pointwork-host"));
        let at_once = (0..100).filter(is_at_once).count();
        let guest = wake_ups("pointwork-guest") - before.0;
        let host = wake_ups("pointwork-host") - before.1;
        let counted =
            format!("{path}: {at_once} of 100 at once, wake-ups of guests' threads {guest}, of the host's {host}");
        // A tick of the clock that ends time slices may fall into a request, which goes on elsewhere then.
        assert!(at_once >= 80 && guest <= 80 && host <= 80, "{counted}");
    }
}

#[test]
fn the_writer_of_the_log_is_called_off_the_fiber_and_its_own_lines_are_dropped() {
    let host = host();
    let lines: Said<String> = Arc::default();
    let written = lines.clone();
    let write = move |line: pointwork_embed::LogLine| {
        stack::check("the writer of the log");
        tracing::info!(target: "pointwork", "a line of the writer");
        written.lock().unwrap().push(format!("{} {}", line.level, line.message));
    };
    write_log(Level::INFO, write).unwrap();
    assert!(write_log(Level::INFO, |_| {}).is_err());
    let program = Program::text("a line of a guest").step(Step::Log).say("done");
    load(
        &host,
        "logs",
        &Guest::with(Controller::new("Logging", "").get("/log", program)),
    );
    assert_eq!(text(get(&host, "/log")), "done");
    let lines = lines.lock().unwrap();
    let of_guest = lines.iter().find(|line| line.contains("a line of a guest"));
    assert!(
        of_guest.is_some_and(|line| line.starts_with("INFO") && line.contains("module=logs")),
        "{lines:?}"
    );
    assert!(!lines.iter().any(|line| line.contains("of the writer")), "{lines:?}");
}

#[test]
fn guests_trap_and_overflow_on_a_thread_with_a_small_stack() {
    let host = host();
    let controller = ["/trap", "/overflow"].into_iter().zip([End::Trap, End::Overflow]);
    let controller = controller.fold(Controller::new("Ending", ""), |controller, (path, end)| {
        controller.get(path, Program::new().ends(end))
    });
    load(
        &host,
        "ends",
        &Guest::with(controller.get("/plain", Program::text("plain"))),
    );
    let small = thread::Builder::new().stack_size(256 * 1024);
    let asking = small.spawn(move || {
        for _ in 0..20 {
            assert_eq!(get(&host, "/trap").status(), 500);
            assert_eq!(get(&host, "/overflow").status(), 500);
            assert_eq!(get(&host, "/plain").status(), 200);
        }
    });
    asking.unwrap().join().unwrap();
}
