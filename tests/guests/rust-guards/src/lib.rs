//! A synchronous module with guards, for the behaviour suite.

mod doors;

pub use doors::{Arguments, Bookings, Named, NotBlocked, Odd, Wrong, problem};
use pointwork_guest::module;

module! { Bookings, Odd, Arguments, Wrong; guard: NotBlocked; after: Named; errors: problem; uses: doors::CountOf }
