//! The events that a module uses.

use std::marker::PhantomData;

use pointwork_events::Event;

/// The name of `T` if it is an event. The macros see only tokens, and a function `call` may have another type.
///
/// The inherent constant exists for events only, and has priority over the one of [`NotAnEvent`].
#[derive(Debug)]
pub struct EventName<T>(PhantomData<T>);

impl<T: Event> EventName<T> {
    pub const NAME: Option<&'static str> = Some(T::NAME);
}

/// The constant of a type that is not an event.
pub trait NotAnEvent {
    const NAME: Option<&'static str> = None;
}

impl<T> NotAnEvent for EventName<T> {}

#[cfg(test)]
mod tests {
    use super::{EventName, NotAnEvent as _};

    pointwork_events::events! { Viewed = "product:viewed": u64; }

    #[test]
    fn a_type_that_is_no_event_has_no_name() {
        assert_eq!(EventName::<Viewed>::NAME, Some("product:viewed"));
        assert_eq!(EventName::<u64>::NAME, None);
    }
}
