//! An asynchronous module with guards, for the behaviour suite.

#[path = "../../rust-guards/src/doors.rs"]
mod doors;

pub use doors::{Bookings, Named, NotBlocked, Odd, problem};
use pointwork_guest::module;

module! { async; Bookings, Odd; uses: doors::CountOf; errors: problem; after: Named; guard: NotBlocked }
