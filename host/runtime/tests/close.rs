//! Closing an application ends every thread that it started. This file has one test, since it counts the threads of its
//! process.

#![cfg(target_os = "linux")]

use std::fs;

use pointwork::{App, Body, Context};
use pointwork_test_clock::real::until_blocking;

fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("pointwork")).collect();
    names.sort();
    names
}

/// Waits until the threads are as they have to be.
fn until(is_so: impl Fn(&[String]) -> bool) {
    let are_right = until_blocking("the threads are right", || is_so(&threads()).then_some(()));
    are_right.unwrap_or_else(|error| panic!("{error}: {:?}", threads()));
}

#[test]
fn no_thread_is_left() {
    let app = App::new().expect("threads start");
    app.get("/a", |_: Context| async { "a" }).expect("a route");
    // A thread names itself when it runs for the first time.
    until(|threads| threads.len() > 3);
    let waiting = app.handle(
        http::Request::get("/a")
            .header("host", "test")
            .body(Body::empty())
            .expect("a request"),
    );
    futures_executor::block_on(async {
        assert_eq!(waiting.await.status(), 200);
        app.close().await;
    });
    // Linux lists a thread for a moment after it was joined; the thread that closes ends after the result is there.
    until(|threads| threads.is_empty());
}
