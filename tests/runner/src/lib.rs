//! The runner of all tests.
//!
//! cargo runs the test binaries of a workspace one after the other, and each binary decides on its own how many tests run at a time.
//! This runner reads from cargo's messages which test binaries exist, asks each binary for its tests, and assigns every test to a *lane*:
//!
//! | lane | what runs at a time | for |
//! |---|---|---|
//! | `cpu` | one test per core | everything that `lanes.toml` does not name |
//! | `build` | one test, before all other lanes | tests that run cargo, npm or pip, or compile large components |
//! | `clock` | one test, after all other lanes | tests whose result depends on real time |
//!
//! `lanes.toml` names the tests of `build` and `clock`, each with a reason. An entry that matches no test is an error, so that the
//! file cannot become stale. A test binary that does not list its tests is an error too: no test can bypass the runner.
//!
//! A binary runs in one of two ways. Each test of libtest runs in a process of its own: the runner measures the test, captures its
//! output, and ends it if it hangs. A binary with thousands of short cases, which `lanes.toml` names as `shared`, runs its `cpu` tests in one
//! process, with one thread per core: starting a process per case would cost more than the cases. Such a binary creates its tests
//! with [`Trial`], which reports each result and its duration to the runner by a file.

mod binaries;
mod lanes;
mod process;
mod report;
mod schedule;
mod trial;

pub use binaries::{Binary, Test, read as read_binaries};
pub use lanes::{Lane, Lanes, pattern_matches};
pub use process::list_threads;
pub use report::{Report, TestResult};
pub use schedule::Schedule;
pub use trial::{Failed, Trial, panic_message, run};
