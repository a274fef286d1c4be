//! The time of Pointwork's tests: a clock that a test moves, and the only waits in real time.

pub mod real;
#[cfg(target_os = "linux")]
mod test_clock;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(target_os = "linux")]
mod timers;

#[cfg(target_os = "linux")]
pub use test_clock::TestClock;
