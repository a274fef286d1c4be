//! Native unit tests of asynchronous listeners.

use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{Failure, Payload};
use rust_channels_async::{Both, Names, Relay, Response, Send, Wait, Waits};

#[test]
fn two_calls_of_one_handler_or_listener_are_joined() {
    let answer = TestRequest::get("/both/5").on::<Wait>(|_| ()).run::<Waits>();
    assert_eq!(answer.text(), "both waited");
    let reaction = TestEvent::new::<Both>(5).on::<Wait>(|_| ()).run::<Relay>();
    reaction.output::<Both>();
}

#[test]
fn a_joined_call_that_fails_fails_the_whole() {
    let reaction = TestEvent::new::<Both>(5)
        .fail::<Wait>(Failure::with_code("deadline", 504_u16, "too late"))
        .run::<Relay>();
    let failure = reaction.failure().expect("the call fails");
    assert_eq!((failure.code(), failure.status()), ("deadline", 504));
}

#[test]
fn a_payload_passes_as_it_is() {
    let image = Payload::new("image/png", vec![137, 80]);
    for event in ["relay:echo", "relay:echo:again"] {
        assert_eq!(*TestEvent::raw(event, image.clone()).run::<Relay>().payload(), image);
    }
}

#[test]
fn an_asynchronous_listener_replies() {
    let answer = TestRequest::get("/both/7/label").run::<Waits>();
    assert_eq!(answer.handed_over::<Send>().as_deref(), Some("label of 7"));
    let reaction = TestEvent::new::<Send>("tea".into())
        .with_context(TestRequest::get("/both/7/label"))
        .run::<Response>();
    assert_eq!(reaction.reply().text(), "tea");
}

#[test]
fn a_delivery_knows_its_event_and_the_request_that_began() {
    let reaction = TestEvent::named("names:event", &()).request_id("r-1").run::<Names>();
    let expected = ("event".to_owned(), Some("r-1".to_owned()));
    assert_eq!(reaction.value::<(String, Option<String>)>(), expected);
}

#[test]
fn a_delivery_has_the_id_of_its_event_and_the_number_of_the_attempt() {
    let reaction = TestEvent::named("attempt", &()).run::<Names>();
    assert_eq!(reaction.value::<(String, u32)>(), ("test-event".to_owned(), 1));
    let reaction = TestEvent::named("attempt", &()).id("e-7").attempt(3).run::<Names>();
    assert_eq!(reaction.value::<(String, u32)>(), ("e-7".to_owned(), 3));
}

#[test]
fn a_context_may_be_wanted_and_not_needed() {
    assert!(!TestEvent::named("has-context", &()).run::<Names>().value::<bool>());
    let reaction = TestEvent::named("has-context", &())
        .with_context(TestRequest::get("/"))
        .run::<Names>();
    assert!(reaction.value::<bool>());
}
