//! Native unit tests of the interpreter, without a host.

use pointwork_guest::form::Async;
use pointwork_guest::testing::TestRequest;
use pointwork_guest::{AsyncContext, events};
use runner::manifest;
use runner::run::{Run, now};
use runner::slot::GuestText;
use serde_json::{Value, json};

events! {
    Stock = "db:stock": String => u32;
    Seen = "audit:seen": String;
}

/// A program lives as long as the instance that runs it.
fn program(program: Value) -> &'static Value {
    Box::leak(Box::new(program))
}

#[test]
fn a_program_of_either_form_appends_to_its_text_and_replies() {
    let steps = json!([
        ["say", "\""],
        ["header", "x-id"],
        ["say", "\""],
        ["call", "db:stock", "application/json"],
        ["say", " left"]
    ]);
    let program = program(json!({ "steps": steps, "status": 201, "headers": [["x-one", "1"]] }));
    let request = || {
        TestRequest::get("/")
            .header("x-id", "tea")
            .on::<Stock>(|name| name.len() as u32)
    };
    let answers = [
        request().run_with(|ctx| now(Run::handle(program, ctx))),
        request().run_with_async(async |ctx: AsyncContext| Run::<Async>::handle(program, ctx).await),
    ];
    for answer in answers {
        assert_eq!((answer.status(), answer.text()), (201, "3 left".to_owned()));
        assert_eq!(answer.header("x-one").as_deref(), Some("1"));
    }
}

#[test]
fn a_failed_step_becomes_the_text() {
    let program = program(json!({ "steps": [["call", "db:none", "application/json"]] }));
    let answer = TestRequest::get("/").run_with(|ctx| now(Run::handle(program, ctx)));
    assert!(answer.text().starts_with("failed unknown-event: "), "{}", answer.text());
}

#[test]
fn each_step_of_a_list_begins_with_the_same_text() {
    let each = json!(["each", [["emit", "audit:seen"], ["emit", "audit:seen"]]]);
    let program =
        program(json!({ "steps": [["say", "\"tea\""], each], "end": ["throw", 409], "details": { "by": 7 } }));
    let answer = TestRequest::get("/").run_with(|ctx| now(Run::handle(program, ctx)));
    assert_eq!(answer.emitted::<Seen>(), ["tea", "tea"]);
    assert_eq!(answer.status(), 409);
}

#[test]
fn a_manifest_has_what_is_declared_unchecked() {
    let route = json!({ "name": "show", "method": "not a method", "paths": ["a//:"], "program": {} });
    let declared = json!({
        "package": { "name": "shop" },
        "uses": ["b", "a", "b"],
        "metadata": [["tag", "1"], ["tag", "2"]],
        "controllers": [
            { "name": "", "prefix": "/", "metadata": [], "routes": [route, route] },
            { "name": "", "prefix": "/", "metadata": [], "routes": [route] },
        ],
        "channels": [{ "name": "db", "metadata": [], "listeners": [{ "event": "", "program": {} }] }],
    });
    let manifest = manifest::of(&GuestText { declared });
    let handlers = manifest.controllers.iter().flat_map(|controller| &controller.routes);
    assert_eq!(handlers.map(|route| route.handler).collect::<Vec<_>>(), [0, 1, 2]);
    let route = &manifest.controllers[0].routes[0];
    assert_eq!(
        (route.method.as_deref(), route.body.as_str()),
        (Some("not a method"), "whole")
    );
    assert_eq!(manifest.channels[0].listeners[0].name, "listener 0");
    assert_eq!((manifest.name.as_deref(), manifest.version), (Some("shop"), None));
    assert_eq!(
        (manifest.events_used, manifest.metadata.len()),
        (["b", "a", "b"].map(String::from).into(), 2)
    );
}
