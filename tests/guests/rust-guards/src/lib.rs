//! A synchronous module with guards, for the behaviour suite.

mod doors;

pub use doors::{Bookings, Named, NotBlocked, Odd, problem};
use pointwork_guest::module;

module! { Bookings, Odd; guard: NotBlocked; after: Named; errors: problem; uses: doors::CountOf }
