//! The clock itself: the order of timers, and the end of the work that became due.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pointwork_core::Clock;
use pointwork_test_clock::TestClock;
use tokio::runtime::{Builder, Runtime};

const SECOND: Duration = Duration::from_secs(1);

/// A runtime whose threads the clock knows.
fn runtime(time: &TestClock, threads: usize) -> Runtime {
    let time = time.clone();
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .on_thread_start(move || time.register_thread());
    builder.build().unwrap()
}

async fn sleep(clock: &Clock, time: Duration) {
    let timer = clock.sleep_until(clock.now() + time);
    timer.expect("the clock is a test's").await;
}

/// Computes for a while, as a guest does.
#[expect(
    clippy::disallowed_methods,
    reason = "the work takes real time, while the clock stands still"
)]
fn compute() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "real time passes, while the clock stands still"
)]
fn time_passes_by_an_advance_alone() {
    let time = TestClock::new();
    let begin = time.now();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(time.now(), begin);
    time.advance_blocking(SECOND);
    assert_eq!(time.clock().now(), begin + SECOND);
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines() {
    let time = TestClock::new();
    let runtime = runtime(&time, 2);
    let fired = Arc::new(Mutex::new(Vec::new()));
    for seconds in [3, 1, 2, 5] {
        let (clock, fired) = (time.clock(), fired.clone());
        runtime.spawn(async move {
            let begin = clock.now();
            sleep(&clock, SECOND * seconds).await;
            compute();
            fired.lock().unwrap().push((seconds, clock.now() - begin));
        });
    }
    time.advance_blocking(SECOND * 4);
    let expected: Vec<_> = [1, 2, 3].map(|seconds| (seconds, SECOND * seconds)).into();
    assert_eq!(*fired.lock().unwrap(), expected, "each saw its own deadline");
    assert_eq!(time.timers(), [SECOND]);
}

#[test]
fn all_timers_of_an_instant_have_run() {
    let time = TestClock::new();
    let runtime = runtime(&time, 2);
    let fired = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (clock, fired) = (time.clock(), fired.clone());
        runtime.spawn(async move {
            sleep(&clock, SECOND).await;
            // Not in the first poll after the timer.
            tokio::task::yield_now().await;
            fired.fetch_add(1, Ordering::SeqCst);
        });
    }
    time.advance_blocking(SECOND - Duration::from_nanos(1));
    assert_eq!(fired.load(Ordering::SeqCst), 0);
    time.advance_blocking(Duration::from_nanos(1));
    assert_eq!(fired.load(Ordering::SeqCst), 50);
}

#[test]
fn timers_that_fired_work_sets_fire_within_the_same_advance() {
    let time = TestClock::new();
    let runtime = runtime(&time, 1);
    let (clock, begin) = (time.clock(), time.now());
    let rounds = Arc::new(AtomicUsize::new(0));
    let counts = rounds.clone();
    runtime.spawn(async move {
        loop {
            sleep(&clock, SECOND).await;
            let round = counts.fetch_add(1, Ordering::SeqCst) + 1;
            assert_eq!(clock.now() - begin, SECOND * u32::try_from(round).unwrap());
        }
    });
    time.advance_blocking(SECOND * 100);
    assert_eq!(rounds.load(Ordering::SeqCst), 100);
}

#[test]
fn work_that_crosses_runtimes_and_threads_has_run() {
    let time = TestClock::new();
    let (first, second) = (runtime(&time, 1), runtime(&time, 2));
    let (clock, done) = (time.clock(), Arc::new(AtomicUsize::new(0)));
    let counts = done.clone();
    let handle = second.handle().clone();
    first.spawn(async move {
        sleep(&clock, SECOND).await;
        for _ in 0..20 {
            let blocking = handle.spawn_blocking(compute);
            handle.spawn(async move { blocking.await.unwrap() }).await.unwrap();
            counts.fetch_add(1, Ordering::SeqCst);
        }
    });
    time.advance_blocking(SECOND);
    assert_eq!(done.load(Ordering::SeqCst), 20);
}

#[test]
fn a_dropped_timer_is_gone() {
    let time = TestClock::new();
    let clock = time.clock();
    let timer = clock.sleep_until(clock.now() + SECOND);
    assert_eq!(time.timers(), [SECOND]);
    drop(timer);
    assert!(time.timers().is_empty());
    time.advance_blocking(SECOND);
}

#[test]
fn a_timer_that_nobody_polls_holds_nothing_up() {
    let time = TestClock::new();
    let clock = time.clock();
    let mut timer = clock.sleep_until(clock.now() + SECOND).unwrap();
    assert!(timer.as_mut().now_or_never().is_none());
    time.advance_blocking(SECOND * 2);
    assert!(timer.now_or_never().is_some());
    let past = clock.sleep_until(clock.now()).unwrap();
    assert!(past.now_or_never().is_some(), "a deadline that is over");
}

#[test]
fn a_waker_that_owns_the_last_timer_may_be_dropped_with_it() {
    let time = TestClock::new();
    let runtime = runtime(&time, 1);
    for _ in 0..10 {
        let clock = time.clock();
        let task = runtime.spawn(async move { sleep(&clock, SECOND).await });
        time.advance_blocking(SECOND / 2);
        task.abort();
    }
    drop(runtime);
    assert!(time.timers().is_empty());
    time.advance_blocking(SECOND);
}

#[tokio::test]
async fn the_work_of_the_calling_runtime_has_run() {
    let time = TestClock::new();
    let clock = time.clock();
    let task = tokio::spawn(async move {
        for _ in 0..3 {
            sleep(&clock, SECOND).await;
            tokio::task::yield_now().await;
        }
    });
    time.until_timer(SECOND).await;
    time.advance(SECOND * 3).await;
    assert!(task.is_finished());
}

#[tokio::test]
async fn a_test_learns_of_a_timer() {
    let time = TestClock::new();
    let clock = time.clock();
    let (waiting, setting) = tokio::join!(time.until_timer(SECOND).map(|()| "seen"), async {
        tokio::task::yield_now().await;
        clock.sleep_until(clock.now() + SECOND)
    });
    assert_eq!(waiting, "seen");
    drop(setting);
}

#[test]
fn a_thread_that_ended_is_not_waited_for() {
    let time = TestClock::new();
    for _ in 0..20 {
        let registers = time.clone();
        std::thread::spawn(move || registers.register_thread()).join().unwrap();
    }
    time.advance_blocking(SECOND);
}
