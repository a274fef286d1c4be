//! Input that is made to harm: keys of prototypes, text that is no Unicode, and other charsets.

use std::collections::HashMap;

use pointwork_guest::testing::{Answer, TestEvent, TestRequest};
use pointwork_guest::{Delivery, Failure, Form, Json, JsonOrForm, Payload, Query, channel, controller, events};
use serde_json::{Value, json};

events! {
    Look = "db:look": () => Value;
    Keep = "db:keep": Value => Value;
}

type Fields = HashMap<String, String>;

struct Read;

#[controller("read")]
impl Read {
    #[post("json")]
    fn json(body: Json<Value>) -> String {
        body.to_string()
    }

    #[post("number")]
    fn number(body: Json<Vec<HashMap<String, u32>>>) -> String {
        body.len().to_string()
    }

    #[post("either")]
    fn either(body: JsonOrForm<Fields>) -> String {
        body.len().to_string()
    }

    #[post("form")]
    fn form(body: Form<Fields>) -> String {
        let names: Vec<_> = body.keys().cloned().collect();
        names.join(",")
    }

    #[get("query")]
    fn query(query: Query<Fields>) -> String {
        query.len().to_string()
    }

    #[get("called")]
    fn called(ctx: &pointwork_guest::Context) -> Result<String, Failure> {
        let called = ctx.call::<Look>(()).inspect_err(|failure| {
            assert_eq!((failure.code(), failure.status()), ("bad-payload", 500));
        });
        called.map(|value| value.to_string())
    }
}

struct Db;

#[channel("db")]
impl Db {
    #[on(Keep)]
    fn keep(_delivery: &Delivery, value: Value) -> Value {
        value
    }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn post(path: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let request = TestRequest::post(path).header("content-type", content_type);
    request.body(body).run::<Read>()
}

/// The key of a prototype, spelled in several ways.
const PROTOTYPES: &[&str] = &[
    r#"{"__proto__":1}"#,
    r#"[{"a":{"__proto__":{"isAdmin":true}}}]"#,
    r#"{"\u005f\u005fproto\u005f\u005f":1}"#,
    r#"{"constructor":{"prototype":{"isAdmin":true}}}"#,
    r#"{ "constructor" : { "a" : 1 , "prototype" : 2 } }"#,
];

#[test]
fn json_with_the_key_of_a_prototype_is_400_and_names_the_place() {
    for body in PROTOTYPES {
        for path in ["/read/json", "/read/either", "/read/number"] {
            let answer = post(path, JSON, *body);
            assert_eq!(answer.status(), 400, "{path} {body}");
            assert!(
                answer.message().unwrap_or_default().ends_with(" is not allowed"),
                "{answer:?}"
            );
        }
    }
    let answer = post("/read/json", JSON, r#"{"role":1,"__proto__":1}"#);
    let message = "body: the key `__proto__` at line 1, column 11 is not allowed";
    assert_eq!(answer.message(), Some(message));
    let harmless = r#"{"constructor":"prototype","proto":["__proto__"]}"#;
    assert_eq!(post("/read/json", JSON, harmless).text(), harmless);
}

#[test]
fn a_name_of_a_prototype_in_a_form_or_query_is_400() {
    for text in ["__proto__=1", "a=1&__proto__", "a&%5f%5Fproto__=x&b"] {
        let message = |of: &str| format!("{of}: the name `__proto__` is not allowed");
        for path in ["/read/form", "/read/either"] {
            let answer = post(path, FORM, text);
            assert_eq!(
                (answer.status(), answer.message()),
                (400, Some(message("body").as_str()))
            );
        }
        let answer = TestRequest::get(&format!("/read/query?{text}")).run::<Read>();
        assert_eq!(
            (answer.status(), answer.message()),
            (400, Some(message("query").as_str()))
        );
    }
    assert_eq!(
        post("/read/form", FORM, "constructor[prototype]=__proto__").text(),
        "constructor[prototype]"
    );
}

#[test]
fn a_payload_with_the_key_of_a_prototype_is_bad() {
    for text in PROTOTYPES {
        let payload = Payload::new(JSON, *text);
        let reaction = TestEvent::raw("db:keep", payload).run::<Db>();
        let failure = reaction.failure().expect("a failure");
        assert_eq!((failure.code(), failure.status()), ("bad-payload", 400), "{text}");
    }
    let request = TestRequest::get("/read/called").on::<Look>(|()| json!({ "a": { "__proto__": 1 } }));
    let answer = request.run::<Read>();
    assert_eq!(
        (answer.status(), answer.message()),
        (500, Some("the server could not answer the request"))
    );
}

#[test]
fn half_of_a_surrogate_pair_is_400() {
    for body in [r#"{"a":"\ud800"}"#, r#"["\udfff\ud800"]"#, r#"{"\ud800":1}"#] {
        let answer = post("/read/json", JSON, body);
        let message = answer.message().unwrap_or_default();
        assert!(
            message.ends_with(" is half of a surrogate pair, expected both halves"),
            "{message}"
        );
        assert_eq!(answer.status(), 400);
    }
    let reaction = TestEvent::raw("db:keep", Payload::new(JSON, r#""\ud800""#)).run::<Db>();
    assert_eq!(
        reaction.failure().map(|failure| failure.code().to_owned()),
        Some("bad-payload".to_owned())
    );
    assert_eq!(post("/read/json", JSON, r#""\ud83d\ude00""#).text(), "\"\u{1f600}\"");
}

#[test]
fn a_byte_order_mark_is_removed() {
    assert_eq!(post("/read/json", JSON, "\u{feff}{}").text(), "{}");
    assert_eq!(post("/read/either", JSON, "\u{feff}{}").text(), "0");
    assert_eq!(post("/read/form", FORM, "\u{feff}a=1").text(), "a");
}

#[test]
fn another_charset_than_utf8_is_415() {
    for (path, content_type, body) in [
        ("/read/json", "application/json; charset=utf-16", "{}"),
        ("/read/json", "application/tea+json; charset=\"latin1\"", "{}"),
        ("/read/either", "application/json; charset=utf-16", "{}"),
        (
            "/read/either",
            "application/x-www-form-urlencoded; charset=utf-16",
            "a=1",
        ),
        (
            "/read/form",
            "application/x-www-form-urlencoded; charset=iso-8859-1",
            "a=1",
        ),
    ] {
        let answer = post(path, content_type, body);
        assert_eq!(answer.status(), 415, "{content_type}");
        assert!(
            answer
                .message()
                .unwrap_or_default()
                .starts_with("body: expected the charset `utf-8`, got ")
        );
    }
    assert_eq!(post("/read/json", "application/json; charset=UTF-8", "{}").text(), "{}");
}
