//! Typed events: the names that controllers call and emit, each with the type of its payload and of its result.
//!
//! An application declares its event map once, with [`events!`], in a crate that its guests and its native host both
//! depend on. From then on a wrong payload does not compile on either side of the sandbox (spec H8).
//!
//! ```
//! use pointwork_events::{Event, IoEvent, events};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize)]
//! pub struct Product {
//!     pub id: u64,
//!     pub name: String,
//! }
//!
//! events! {
//!     /// Every product of the shop.
//!     pub AllProducts = "db:product:all": () => Vec<Product>;
//!     /// Somebody looked at the product of that id.
//!     pub ProductViewed = "product:viewed": u64;
//! }
//!
//! assert_eq!(AllProducts::NAME, "db:product:all");
//! assert_eq!(ProductViewed::NAME, "product:viewed");
//! ```
//!
//! Types cross the boundary as JSON, so they derive serde's `Serialize` and `Deserialize` and nothing else.

mod name;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use name::is_event_name;

/// An event by its type: a name and what it carries.
///
/// Declared with [`events!`]; there is seldom a reason to implement it by hand.
#[diagnostic::on_unimplemented(message = "`{Self}` is no event", label = "expected a type that `events!` declares")]
pub trait Event {
    /// The name: `channel:event`, or a plain event name that exactly one channel listens to (spec C2).
    const NAME: &'static str;
    /// What the event carries; `()` if nothing.
    type Payload: Serialize + DeserializeOwned;
    /// What the listener returns; `()` for an event that is only ever emitted.
    type Output: Serialize + DeserializeOwned;
}

/// An event that was declared with an output, so that it can be called as well as emitted (spec H8).
pub trait IoEvent: Event {}

/// Declares the event map: one line for each event, `pub Name = "channel:event": Payload => Output;`.
///
/// Each line becomes a unit struct that implements [`Event`], and [`IoEvent`] if it has an output. Attributes, docs
/// included, go to the struct. A name that no channel could listen to (empty, with an empty part, with whitespace) does
/// not compile:
///
/// ```compile_fail
/// pointwork_events::events! {
///     pub Broken = "db::all": ();
/// }
/// ```
#[macro_export]
macro_rules! events {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis $event:ident = $name:literal : $payload:ty $(=> $output:ty)? ;
    )*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $visibility struct $event;

        impl $crate::Event for $event {
            const NAME: &'static str = $name;
            type Payload = $payload;
            type Output = $crate::__output!($($output)?);
        }

        $crate::__callable!($event $($output)?);

        const _: () = ::core::assert!(
            $crate::is_event_name($name),
            ::core::concat!(
                "`", $name, "` is no event name: expected parts that are not empty, joined by `:`, without whitespace, \
                 such as `db:product:all`"
            ),
        );
    )*};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __output {
    () => {
        ()
    };
    ($output:ty) => {
        $output
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __callable {
    ($event:ident) => {};
    ($event:ident $output:ty) => {
        impl $crate::IoEvent for $event {}
    };
}
