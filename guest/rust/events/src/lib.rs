//! Typed events: the names of events with the types of their payloads and results.
//!
//! An application declares its event map once, with [`events!`], in a crate that its guests and its native host depend
//! on. Then a wrong payload does not compile on either side of the sandbox.
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
//!     /// The product of that id was viewed.
//!     pub ProductViewed = "product:viewed": u64;
//! }
//!
//! assert_eq!(AllProducts::NAME, "db:product:all");
//! assert_eq!(ProductViewed::NAME, "product:viewed");
//! ```
//!
//! Payloads and results cross the boundary as JSON: their types implement serde's `Serialize` and `Deserialize`. A
//! [`Payload`] crosses it unchanged, for bytes with a content type.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod json;
mod json_text;
mod name;
mod payload;
#[doc(hidden)]
pub mod reply;

pub use name::is_event_name;
pub use payload::{EventData, Payload, PayloadError};

/// The type of an event: its name and the types of payload and result. [`events!`] declares it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "expected a type that `events!` declares"
)]
pub trait Event {
    /// The name: `channel:event`, or a plain event name that exactly one channel listens to.
    const NAME: &'static str;
    /// The type of the payload; `()` for an event without one.
    type Payload: EventData;
    /// The type of the listener's result; `()` for an event that is only emitted.
    type Output: EventData;
}

/// An event that was declared with a result, which can be called as well as emitted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event with a result",
    label = "expected an event that `events!` declares with a result",
    note = "declare the result, `Name = \"channel:event\": Payload => Output;`, or emit the event instead of calling it"
)]
pub trait IoEvent: Event {}

/// Declares the event map: one line for each event, `pub Name = "channel:event": Payload => Output;`.
///
/// Each line declares a unit struct that implements [`Event`], and [`IoEvent`] if there is an output. Attributes and
/// docs apply to the struct. An invalid name (empty, with an empty word, with whitespace) does not compile.
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
                "`", $name, "` is not a valid event name: expected words joined by `:`, without whitespace, \
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
