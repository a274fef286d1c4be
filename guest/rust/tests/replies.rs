//! Replies of handlers, and heads of replies that are not valid HTTP.

use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{
    Context, Created, Failure, HeaderMap, HeaderName, HeaderValue, Html, HttpStatus, IntoReply, Json, NoContent,
    Payload, Query, Redirect, Reply, ReplyParts as _, controller,
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
    let location = || Some("/a?b=%C3%A4".to_owned());
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
fn a_location_is_encoded_where_a_url_needs_it() {
    for (location, sent) in [
        ("/größe?maß=10 €#ä", "/gr%C3%B6%C3%9Fe?ma%C3%9F=10%20%E2%82%AC#%C3%A4"),
        (
            "https://a.example/%C3%A4?b=100%&c=[d]",
            "https://a.example/%C3%A4?b=100%&c=[d]",
        ),
        ("", ""),
    ] {
        let answer = TestRequest::get("/").run_with(|_| Redirect::to(location));
        assert_eq!(
            (answer.status(), answer.header("location").as_deref()),
            (303, Some(sent))
        );
        let answer = TestRequest::get("/").run_with(|_| Created(location, "made"));
        assert_eq!(
            (answer.status(), answer.header("location").as_deref()),
            (201, Some(sent))
        );
    }
}

#[test]
fn every_404_without_a_message_has_the_same() {
    let none = TestRequest::get("/").run_with(|_| None::<String>);
    let status = TestRequest::get("/").run_with(|_| Err::<String, _>(HttpStatus::NOT_FOUND));
    for answer in [none, status] {
        assert_eq!((answer.status(), answer.message()), (404, Some("Not Found")));
    }
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
        let problem = if ["redirect", "created"].contains(&path) {
            "the location has the byte 13 at position 2, which a URL cannot have"
        } else {
            "the value of header `x-to` has the byte 13 at position 2, which a header cannot have"
        };
        let expected = format!("{problem}; it is made at {}:{}:", file!(), line(place));
        assert!(
            failure.message().starts_with(&expected),
            "{path}: {}",
            failure.message()
        );
    }
}

#[test]
fn a_control_character_in_a_location_is_refused() {
    for byte in (0..b' ').chain([0x7f]) {
        for path in ["redirect", "created"] {
            let answer = get(&format!("/{path}?to=/%{byte:02x}/evil.example"));
            let code = answer.failure().map(Failure::code);
            assert_eq!((answer.status(), code), (500, Some("invalid-reply")), "{path} {byte}");
            assert_eq!(answer.header("location"), None, "{path} {byte}");
        }
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

/// Replies that the host refuses, with the reasons.
fn refused() -> Vec<(Reply, &'static str)> {
    let of_status = |status: u16| {
        (
            Reply::new(status),
            "cannot be the status of a reply; expected 200 to 599",
        )
    };
    let mut all: Vec<_> = [0, 100, 199, 600, 999].map(of_status).into();
    let long = Reply::new(200_u16).header("x-long", "x".repeat(70_000));
    all.push((long, "1 headers of 70038 bytes are too many; expected 65536 at most"));
    let many = (0..2_000).fold(Reply::new(200_u16), |reply, _| reply.header("x", "y"));
    all.push((many, "2000 headers of 68000 bytes are too many"));
    for text in ["<", "", "{} {}"] {
        let payload = Payload::new("application/json", text);
        let reply = payload.into_reply().expect("a payload is a reply");
        all.push((reply, "the body is declared as JSON and is none: "));
    }
    all
}

#[test]
fn a_reply_that_the_host_refuses_is_refused_in_a_unit_test() {
    for (reply, problem) in refused() {
        let returned = reply.clone();
        let answer = TestRequest::get("/").run_with(move |_| returned);
        let failure = answer.failure().expect("the reply is refused");
        assert_eq!((answer.status(), failure.code()), (500, "invalid-reply"));
        assert!(failure.message().contains(problem), "{failure}");
        assert_eq!(answer.message(), Some("the server could not answer the request"));
        let answer = TestRequest::get("/").run_with(move |ctx| match ctx.send(reply) {
            Err(failure) => ctx.send(failure.to_string()),
            Ok(()) => Ok(()),
        });
        let text = answer.text();
        assert!(
            text.starts_with("`send` failed with `invalid-reply`: ") && text.contains(problem),
            "{text}"
        );
    }
    let answer = TestRequest::get("/").run_with(|ctx| ctx.open_reply(Reply::new(999_u16)).map(|_| ()));
    assert_eq!(answer.failure().map(Failure::code), Some("invalid-reply"));
    let answer = TestRequest::get("/").run_with(|_| Failure::new(404_u16, "no").detail("long", "x".repeat(70_000)));
    assert_eq!(answer.failure().map(Failure::code), Some("invalid-reply"));
}

#[test]
fn a_reply_at_the_edge_of_the_rules_is_sent() {
    for status in [200_u16, 599] {
        assert_eq!(TestRequest::get("/").run_with(|_| Reply::new(status)).status(), status);
    }
    let reply = Reply::new(200_u16).header("x", "y".repeat(65_536 - 33));
    assert_eq!(TestRequest::get("/").run_with(|_| reply).status(), 200);
    let payload = Payload::new("application/json", " {} ");
    assert_eq!(TestRequest::get("/").run_with(|_| payload).text(), " {} ");
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
