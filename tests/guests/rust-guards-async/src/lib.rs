//! An asynchronous module with guards, for the behaviour suite.

#[path = "../../rust-guards/src/doors.rs"]
mod doors;

pub use doors::{Arguments, Bookings, Named, NotBlocked, Odd, Wrong, problem};
use pointwork_guest::module;

module! { async; Bookings, Odd, Arguments, Wrong; uses: doors::CountOf; errors: problem; after: Named; guard: NotBlocked }
