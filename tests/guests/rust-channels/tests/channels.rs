//! Native unit tests of channels, without a host, as an author writes them.

use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{Channel, Failure, Payload};
use rust_channels::{
    Answer, Ask, Audit, CrashHeard, Crashed, Db, Fail, Nest, Note, Noted, Product, ProductById, Response, Send, Server,
    Shop, Silent, Twice,
};

fn tea() -> Product {
    Product {
        id: 7,
        name: "tea".into(),
    }
}

#[test]
fn a_listener_answers_by_type_or_by_name() {
    assert_eq!(
        TestEvent::new::<ProductById>(7).run::<Db>().output::<ProductById>(),
        Some(tea())
    );
    for name in ["db:product:by-id", "product:by-id"] {
        assert_eq!(TestEvent::named(name, &8).run::<Db>().value::<Option<Product>>(), None);
    }
}

#[test]
fn the_events_of_a_channel_are_declared_in_order_without_its_name() {
    let events: Vec<_> = Db::EVENTS
        .iter()
        .map(|event| (event.listener, event.name, event.event))
        .collect();
    assert_eq!(
        events,
        [
            (0, "by_id", "product:by-id"),
            (1, "nest", "nest"),
            (2, "picture", "picture"),
            (3, "look", "look"),
            (4, "trap", "trap"),
            (5, "fail", "fail"),
            (6, "ask", "ask")
        ]
    );
    assert_eq!((Db::NAME, Db::LISTENERS, Db::helper()), ("db", 7, "helper"));
}

#[test]
fn a_listener_calls_on_through_its_delivery() {
    let reaction = TestEvent::new::<Nest>(3).on::<Nest>(|n| n).run::<Db>();
    assert_eq!(reaction.output::<Nest>(), 3);
    let reaction = TestEvent::new::<Ask>("tea?".into())
        .on::<Answer>(|text| text + " yes")
        .run::<Db>();
    assert_eq!(reaction.output::<Ask>(), "tea? yes");
}

#[test]
fn a_failed_call_is_passed_on_whole() {
    let reaction = TestEvent::new::<Ask>("tea?".into())
        .fail::<Answer>(Failure::with_code("too-deep", 508_u16, "the calls turn back"))
        .run::<Db>();
    let failure = reaction.failure().expect("the call fails");
    assert_eq!(
        (failure.code(), failure.status(), failure.message()),
        ("too-deep", 508, "the calls turn back")
    );
}

#[test]
fn a_failure_has_a_code_of_its_own() {
    let reaction = TestEvent::new::<Fail>(()).run::<Db>();
    let failure = reaction.failure().expect("the listener fails");
    assert_eq!(failure.to_string(), "the store says no");
}

#[test]
fn a_payload_of_the_wrong_type_is_refused_with_its_place() {
    let reaction = TestEvent::named("db:nest", "three").run::<Db>();
    let failure = reaction.failure().expect("the payload does not fit");
    assert_eq!(
        (failure.code(), failure.status(), failure.message()),
        (
            "bad-payload",
            400,
            "payload: invalid type: string \"three\", expected u32 at line 1 column 7"
        )
    );
    let reaction = TestEvent::raw("db:nest", Payload::new("text/csv", "3")).run::<Db>();
    assert_eq!(
        reaction.failure().map(Failure::message),
        Some("payload: expected `application/json`, got `text/csv`")
    );
}

#[test]
fn a_listener_replies_on_the_context_that_was_handed_over() {
    let request = TestRequest::get("/shop/7/label").route("/shop/:id/label");
    let reaction = TestEvent::new::<Send>("tea".into())
        .with_context(request)
        .run::<Response>();
    assert_eq!(reaction.payload().data(), b"null");
    assert_eq!(
        (reaction.reply().status(), reaction.reply().text().as_str()),
        (200, "tea")
    );
}

#[test]
fn without_a_context_the_listener_does_not_run() {
    let reaction = TestEvent::new::<Send>("tea".into()).run::<Response>();
    assert_eq!(
        reaction.failure().map(Failure::message),
        Some("event `response:send` came without a context, expected a context to be handed over with it")
    );
}

#[test]
fn a_context_that_is_dropped_leaves_the_reply_open() {
    let reaction = TestEvent::new::<Silent>(String::new())
        .with_context(TestRequest::get("/shop/silent"))
        .run::<Response>();
    assert!(reaction.failure().is_none() && reaction.reply().is_open());
}

#[test]
fn a_second_reply_is_refused_to_the_listener() {
    let reaction = TestEvent::new::<Twice>("once".into())
        .with_context(TestRequest::get("/shop/twice"))
        .run::<Response>();
    assert_eq!(reaction.reply().text(), "once");
    assert_eq!(reaction.emitted::<Note>(), ["already-replied"]);
}

#[test]
fn what_is_heard_is_passed_on() {
    let reaction = TestEvent::new::<Note>("tea".into())
        .on::<Noted>(|text| assert_eq!(text, "tea"))
        .run::<Audit>();
    assert!(reaction.failure().is_none());
    let crash = serde_json::json!({ "kind": "trap", "module": "shop" });
    let expected = crash.clone();
    let reaction = TestEvent::new::<Crashed>(crash)
        .on::<CrashHeard>(move |heard| assert_eq!(heard, expected))
        .run::<Server>();
    assert!(reaction.failure().is_none());
}

#[test]
fn a_controller_reaches_channels_by_their_events() {
    let answer = TestRequest::get("/shop/7")
        .on::<ProductById>(|id| (id == 7).then(tea))
        .run::<Shop>();
    assert_eq!(answer.json::<Product>(), tea());
    let answer = TestRequest::get("/shop/7/label").run::<Shop>();
    assert_eq!(answer.handed_over::<Send>().as_deref(), Some("label of 7"));
    let answer = TestRequest::get("/shop/fail")
        .fail::<Fail>(Failure::with_code("conflict", 409_u16, "no"))
        .run::<Shop>();
    assert_eq!(answer.text(), "conflict 409 no");
}

#[test]
#[should_panic(expected = "channel `audit` has no listener for `audit:nothing`")]
fn an_event_that_nobody_hears_names_those_that_are() {
    let _ = TestEvent::named("audit:nothing", &()).run::<Audit>();
}
