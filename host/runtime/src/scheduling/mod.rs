//! Where guest code runs: the threads, the CPU meter, call histories, admission, circuit breaker and canary trial.

pub(crate) mod admission;
pub(crate) mod breaker;
pub(crate) mod call_history;
pub(crate) mod driver_slot;
mod ended_calls;
pub(crate) mod epoch;
pub(crate) mod fibers;
pub(crate) mod held_places;
pub(crate) mod meter;
pub(crate) mod signals;
pub(crate) mod status;
pub(crate) mod threads;
pub(crate) mod trial;
