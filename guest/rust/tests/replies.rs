//! Replies of handlers, and heads of replies that are not valid HTTP.

use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{
    Context, Created, Failure, HeaderMap, HeaderName, HeaderValue, Html, HttpStatus, IntoReply, Json, NoContent, Query,
    Redirect, Reply, ReplyParts as _, controller,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Target {
    to: String,
}

struct Replies;

#[controller]
impl Replies {
    #[get("redirect")]
    fn redirect(target: Query<Target>) -> Redirect {
        Redirect::to(&target.to)
    }

    #[get("created")]
    fn created(target: Query<Target>) -> Created<&'static str> {
        Created(&target.to, "made")
    }

    #[get("tuple")]
    fn tuple(target: Query<Target>) -> Result<impl IntoReply, Failure> {
        Ok((HttpStatus::ACCEPTED, [("x-to", target.0.to)], "body"))
    }

    #[get("reply")]
    fn reply(target: Query<Target>) -> Reply {
        Reply::new(200_u16).header(target.to.as_str(), "value").text("body")
    }

    #[get("failure")]
    fn failure(target: Query<Target>) -> Failure {
        Failure::new(404_u16, "no such page").header("x-to", target.0.to)
    }

    #[get("sent")]
    fn sent(ctx: &Context, target: Query<Target>) -> Result<(), Failure> {
        match ctx.send((HttpStatus::OK, [("x-to", target.0.to)], "body")) {
            Err(failure) if failure.code() == "invalid-reply" => ctx.send("sent instead"),
            other => other,
        }
    }

    #[get("opened")]
    fn opened(ctx: &Context, target: Query<Target>) -> Result<(), Failure> {
        ctx.open_reply(Reply::new(200_u16).header("x-to", target.0.to))?
            .finish()
    }
}

fn get(path: &str) -> Answer {
    TestRequest::get(path).run::<Replies>()
}

#[test]
fn each_kind_of_reply_has_its_status_and_headers() {
    let of = |answer: Answer| {
        let [location, kind] = ["location", "content-type"].map(|name| answer.header(name));
        (answer.status(), location, kind, answer.text())
    };
    let run = |reply: fn() -> Result<Reply, Failure>| of(TestRequest::get("/").run_with(move |_| reply()));
    let location = || Some("/a?b=ä".to_owned());
    assert_eq!(
        run(|| Redirect::to("/a?b=ä").into_reply()),
        (303, location(), None, String::new())
    );
    assert_eq!(run(|| Redirect::temporary("/a?b=ä").into_reply()).0, 307);
    assert_eq!(run(|| Redirect::permanent("/a?b=ä").into_reply()).0, 308);
    assert_eq!(run(|| NoContent.into_reply()), (204, None, None, String::new()));
    assert_eq!(
        run(|| Created("/a?b=ä", Json(7)).into_reply()),
        (201, location(), None, "7".into())
    );
    let html = Some("text/html; charset=utf-8".to_owned());
    assert_eq!(
        run(|| Html("<p>").into_reply()),
        (200, None, html.clone(), "<p>".into())
    );
    assert_eq!(
        run(|| (404_u16, Html("<p>".to_owned())).into_reply()),
        (404, None, html, "<p>".into())
    );
}

#[test]
fn parts_of_the_head_are_added_in_order() {
    let mut map = HeaderMap::new();
    map.append(HeaderName::from_static("x-map"), HeaderValue::from_static("1"));
    map.append(HeaderName::from_static("x-map"), HeaderValue::from_static("2"));
    let answer = TestRequest::get("/").run_with(|_| {
        let headers = vec![("x-one", b"1".to_vec()), ("content-type", b"text/csv".to_vec())];
        (HttpStatus::ACCEPTED, headers, Some(map), Html("a,b"))
    });
    let headers = answer.headers();
    let named: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), &value[..]))
        .collect();
    assert_eq!(
        named,
        [
            ("x-one", &b"1"[..]),
            ("content-type", b"text/csv"),
            ("x-map", b"1"),
            ("x-map", b"2")
        ]
    );
    assert_eq!((answer.status(), answer.text()), (202, "a,b".into()));
}

/// The line of this file with that text.
fn line(text: &str) -> usize {
    let mut lines = include_str!("replies.rs").lines();
    lines.position(|line| line.contains(text)).map_or(0, |at| at + 1)
}

#[test]
fn a_newline_of_a_client_in_a_header_is_500_with_the_place() {
    for (path, place) in [
        ("redirect", "Redirect::to(&target"),
        ("created", "Created(&target"),
        ("tuple", "fn tuple("),
        ("failure", ".header(\"x-to\", target.0.to)"),
        ("opened", "Reply::new(200_u16).header(\"x-to\""),
    ] {
        let answer = get(&format!("/{path}?to=/a%0d%0aset-cookie:%20a=b"));
        let message = "the server could not answer the request";
        assert_eq!((answer.status(), answer.message()), (500, Some(message)), "{path}");
        assert_eq!(answer.headers(), [], "{path}");
        let failure = answer.failure().expect("the handler failed");
        assert_eq!(failure.code(), "invalid-reply", "{path}");
        let header = if ["redirect", "created"].contains(&path) {
            "location"
        } else {
            "x-to"
        };
        let expected = format!(
            "the value of header `{header}` has the byte 13 at position 2, which a header cannot have; it is made at \
             {}:{}:",
            file!(),
            line(place)
        );
        assert!(
            failure.message().starts_with(&expected),
            "{path}: {}",
            failure.message()
        );
    }
}

#[test]
fn a_wrong_name_of_a_header_is_500_with_the_place() {
    let answer = get("/reply?to=x%20y");
    let failure = answer.failure().expect("the handler failed");
    let expected = format!(
        "`x y` cannot be the name of a header, expected a token such as `x-name`; it is made at {}:{}:",
        file!(),
        line(".header(target.to.as_str()")
    );
    assert!(failure.message().starts_with(&expected), "{}", failure.message());
    assert_eq!((answer.status(), failure.code()), (500, "invalid-reply"));
    assert_eq!(get("/reply?to=x-y").status(), 200);
}

#[test]
fn a_handler_can_send_another_reply_after_one_that_is_not_valid() {
    assert_eq!(get("/sent?to=%0a").text(), "sent instead");
    assert_eq!(get("/sent?to=a").text(), "body");
    // Also its error: it is sent as any other.
    let answer = TestRequest::get("/").run_with(|ctx| {
        let failure = ctx
            .send([("x-to", "\n")].add_to(Reply::new(200_u16)))
            .expect_err("it is not valid");
        ctx.send(failure)
    });
    assert_eq!((answer.status(), answer.failure()), (500, None));
}

#[test]
fn the_cookies_of_a_reply_are_read_by_name() {
    let answer =
        TestRequest::get("/").run_with(|_| ([("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2; Secure")], "ok"));
    assert_eq!(
        (answer.cookie("a").as_deref(), answer.cookie("b").as_deref()),
        (Some("1"), Some("2"))
    );
    assert_eq!(answer.cookie("Path"), None);
}
