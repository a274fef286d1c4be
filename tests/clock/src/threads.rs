//! The registered threads of a clock, and whether they sleep.

use std::cell::RefCell;
use std::fs;
use std::sync::{Arc, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::real::PATIENCE;

/// The time between two readings. A thread that runs is given time to come to rest.
const READING: Duration = Duration::from_micros(200);

/// The processor time within which a new thread has registered.
const STARTING: Duration = Duration::from_millis(5);

/// The registered threads, by their ids in the kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadList(Arc<Mutex<Vec<libc::pid_t>>>);

/// The state of a thread that sleeps: its id and its number of context switches.
type Asleep = (libc::pid_t, u64);

thread_local! {
    /// Removes the thread from the lists when the thread ends.
    static LISTS: RefCell<Vec<Registration>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a thread registered until it is dropped.
#[must_use]
pub(crate) struct Registration {
    list: Weak<Mutex<Vec<libc::pid_t>>>,
    thread: libc::pid_t,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(list) = self.list.upgrade() {
            let mut list = list.lock();
            let place = list.iter().position(|thread| *thread == self.thread);
            place.map(|place| list.swap_remove(place));
        }
    }
}

impl ThreadList {
    /// Registers the current thread until it ends.
    pub(crate) fn register(&self) {
        let registration = self.register_for_now();
        LISTS.with_borrow_mut(|lists| lists.push(registration));
    }

    /// Registers the current thread until the result is dropped.
    pub(crate) fn register_for_now(&self) -> Registration {
        // SAFETY: the function has no preconditions.
        let thread = unsafe { libc::gettid() };
        self.0.lock().push(thread);
        Registration {
            list: Arc::downgrade(&self.0),
            thread,
        }
    }

    /// Waits until all registered threads but the current one sleep at the same instant.
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel reports no event when a thread sleeps"
    )]
    pub(crate) fn until_asleep(&self) {
        let began = Instant::now();
        let mut before = Err(0);
        loop {
            let reading = self.read();
            if reading.is_ok() && reading == before {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "the thread {:?} still runs after {PATIENCE:?}",
                reading.map_err(name)
            );
            before = reading;
            sleep(READING);
        }
    }

    /// Reads the state of each registered thread, and looks for threads that start.
    ///
    /// # Errors
    /// A thread that runs.
    fn read(&self) -> Result<Vec<Asleep>, libc::pid_t> {
        // SAFETY: the function has no preconditions.
        let current = unsafe { libc::gettid() };
        let mut threads = self.0.lock().clone();
        threads.sort_unstable();
        threads.dedup();
        threads.retain(|thread| *thread != current);
        let is_foreign = |thread: &libc::pid_t| *thread != current && threads.binary_search(thread).is_err();
        if let Some(starting) = all_threads().filter(is_foreign).find(|thread| is_starting(*thread)) {
            return Err(starting);
        }
        let states = threads.into_iter();
        let states = states.map(|thread| switches_asleep(thread).map(|switches| (thread, switches)).ok_or(thread));
        states.collect()
    }
}

/// All threads of the process.
fn all_threads() -> impl Iterator<Item = libc::pid_t> {
    let tasks = fs::read_dir("/proc/self/task").expect("the kernel lists the threads of the process");
    tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok())
}

/// Whether a thread that is not registered may be about to register: it runs, and has used very little of a processor.
fn is_starting(thread: libc::pid_t) -> bool {
    let used = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat"));
    let used = used.ok().and_then(|used| used.split(' ').next()?.parse().ok());
    used.is_some_and(|used| Duration::from_nanos(used) < STARTING) && switches_asleep(thread).is_none()
}

/// The number of context switches of a thread that sleeps; `None` of any other thread.
fn switches_asleep(thread: libc::pid_t) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let mut switches = 0;
    for line in status.lines() {
        if let Some(state) = line.strip_prefix("State:") {
            // `D`, a wait for a disk, ends by itself.
            if !state.trim_start().starts_with('S') {
                return None;
            }
        } else if let Some((_, count)) = line.split_once("ctxt_switches:") {
            switches += count.trim().parse::<u64>().ok()?;
        }
    }
    Some(switches)
}

fn name(thread: libc::pid_t) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
    name.unwrap_or_else(|_| thread.to_string()).trim().to_owned()
}
