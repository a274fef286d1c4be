//! The guest of the behaviour suite in Rust: one module for each form, which runs the programs of all cases.
//!
//! The suite builds the module once. For each guest of a case, the suite copies the component and writes the guest's
//! declarations and programs into the [`slot`] of the copy, as JSON. The module reads the slot when an instance first
//! needs it, and answers the host by it: `manifest` makes the manifest, and `run` runs the program of a handler or listener.
//!
//! The code calls the SDK as a module of a user does. Declarations and event names are not constants here, so the module
//! uses the SDK's hooks for modules that learn them at run time.

pub mod manifest;
pub mod run;
pub mod slot;
mod surroundings;

#[cfg(target_arch = "wasm32")]
mod exported {
    use pointwork_guest::__private::exports::Describe;
    use pointwork_guest::bindings::types::Manifest;
    use pointwork_guest::{Failure, Outcome, Payload};

    use crate::run::Run;
    use crate::{manifest, run, slot};

    #[cfg(not(feature = "asynchronous"))]
    type Form = pointwork_guest::form::Blocking;
    #[cfg(feature = "asynchronous")]
    type Form = pointwork_guest::form::Async;

    struct Module;

    impl Describe for Module {
        fn manifest() -> Manifest {
            let guest = slot::guest();
            run::now(Run::<Form>::without_request(&guest.declared["described"]));
            manifest::of(guest)
        }
    }

    /// Runs the steps that belong to the making of an instance: the host calls a function of this name when it makes an instance.
    #[unsafe(export_name = "_initialize")]
    extern "C" fn initialize() {
        run::now(Run::<Form>::without_request(&slot::guest().declared["started"]));
    }

    #[cfg(not(feature = "asynchronous"))]
    impl pointwork_guest::__private::BlockingModule for Module {
        fn handle(handler: u32, context: pointwork_guest::Context) -> Outcome {
            run::now(Run::handle(slot::guest().handler(handler), context))
        }

        fn deliver(listener: u32, delivery: pointwork_guest::Delivery, payload: Payload) -> Result<Payload, Failure> {
            run::now(Run::deliver(slot::guest().listener(listener), delivery, payload))
        }
    }

    #[cfg(feature = "asynchronous")]
    impl pointwork_guest::__private::AsyncModule for Module {
        async fn handle(handler: u32, context: pointwork_guest::AsyncContext) -> Outcome {
            Run::handle(slot::guest().handler(handler), context).await
        }

        async fn deliver(
            listener: u32,
            delivery: pointwork_guest::AsyncDelivery,
            payload: Payload,
        ) -> Result<Payload, Failure> {
            Run::deliver(slot::guest().listener(listener), delivery, payload).await
        }
    }

    #[cfg(not(feature = "asynchronous"))]
    pointwork_guest::__export! { blocking }
    #[cfg(feature = "asynchronous")]
    pointwork_guest::__export! { asynchronous }
}
