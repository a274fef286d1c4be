//! Conditional requests, and signed cookies that are not by the key.

use std::time::{Duration, SystemTime};

use pointwork_guest::cookie::Cookie;
use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{
    Conditions, Context, CookieKey, Cookies, Created, ETag, Failure, Html, HttpStatus, IntoReply, LastModified,
    NoContent, Path, Payload, Reply, ReplyParts, TypedHeader, Unmodified, controller, events, headers,
};

/// Tuesday, 14 November 2023, 22:13:20, and a half second.
fn changed() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_500)
}

const CHANGED: &str = "Tue, 14 Nov 2023 22:13:20 GMT";
const BEFORE: &str = "Tue, 14 Nov 2023 22:13:19 GMT";

events! { Image = "files:image": u64 => Payload; }

struct Page;

#[controller]
impl Page {
    #[get("page")]
    fn show(conditions: Conditions) -> impl IntoReply {
        let validators = (ETag::strong("v,7"), LastModified(changed()));
        ([("cache-control", "no-cache")], conditions.reply(validators, || "page"))
    }

    #[get("weak")]
    fn weak(conditions: Conditions) -> Unmodified<&'static str> {
        conditions.reply(ETag::weak("v7"), || "weak")
    }

    #[get("date")]
    fn date(conditions: Conditions) -> Unmodified<&'static str> {
        conditions.reply(LastModified(changed()), || "date")
    }

    #[get("event")]
    fn event(ctx: &Context, conditions: Conditions) -> Result<Unmodified<Payload>, Failure> {
        conditions.try_reply(ETag::strong("v7"), || ctx.call::<Image>(7))
    }

    #[get("within/:part")]
    fn within(conditions: Conditions, part: Path<String>) -> Result<Reply, Failure> {
        let reply = conditions.reply(ETag::strong("v7"), || "page");
        match part.as_str() {
            "status" => (HttpStatus::ACCEPTED, [("x-part", "a")], reply).into_reply(),
            "number" => (202_u16, [("x-part", "a")], reply).into_reply(),
            "created" => Created("/page", ([("x-part", "a")], reply)).into_reply(),
            _ => Html(([("x-part", "a")], reply)).into_reply(),
        }
    }

    #[get("wrong-tag")]
    fn wrong_tag(conditions: Conditions) -> Unmodified<&'static str> {
        conditions.reply(ETag::strong("wrong\""), || "page")
    }

    #[get("wrong-time")]
    fn wrong_time(conditions: Conditions) -> Result<Unmodified<&'static str>, Failure> {
        let validators = (
            ETag::strong("v7"),
            LastModified(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
        );
        conditions.try_reply(validators, || Ok("page"))
    }

    #[put("page")]
    fn change(conditions: Conditions) -> Result<NoContent, Failure> {
        conditions.require(&(ETag::strong("v,7"), LastModified(changed())))?;
        Ok(NoContent)
    }

    #[get("agent")]
    fn agent(agent: TypedHeader<headers::ContentLength>) -> String {
        agent.0.0.to_string()
    }
}

fn get(path: &str, headers: &[(&str, &str)]) -> Answer {
    of("GET", path, headers)
}

fn of(method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = TestRequest::new(method, path);
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(name, *value));
    request.run::<Page>()
}

#[test]
fn a_body_of_an_event_is_asked_for_only_if_the_client_needs_it() {
    let image = |request: TestRequest| {
        let image = |id| (id == 7).then(|| Payload::new("image/png", *b"PNG"));
        request.try_on::<Image>(move |id| image(id).ok_or_else(|| Failure::new(503_u16, "busy")))
    };
    let answer = image(TestRequest::get("/event")).run::<Page>();
    assert_eq!((answer.status(), answer.bytes()), (200, b"PNG".to_vec()));
    assert_eq!(answer.header("content-type").as_deref(), Some("image/png"));
    // Nothing answers the event, which would fail.
    assert_eq!(get("/event", &[("if-none-match", "\"v7\"")]).status(), 304);
    assert_eq!(get("/event", &[]).status(), 500);
}

#[test]
fn a_version_that_the_client_has_is_304_with_its_validators() {
    for list in ["\"v,7\"", "\"a\", W/\"v,7\"", "*"] {
        let answer = get("/page", &[("if-none-match", list)]);
        assert_eq!((answer.status(), answer.text().as_str()), (304, ""), "{list}");
        let of = |name| answer.header(name);
        assert_eq!(of("etag").as_deref(), Some("\"v,7\""));
        assert_eq!(of("last-modified").as_deref(), Some(CHANGED));
        assert_eq!(of("cache-control").as_deref(), Some("no-cache"));
    }
    for list in ["\"v\"", "v,7", "\"7\"", "\"v,7", ""] {
        let answer = get("/page", &[("if-none-match", list)]);
        assert_eq!((answer.status(), answer.text().as_str()), (200, "page"), "{list}");
    }
    let several = [("if-none-match", "\"a\""), ("if-none-match", "\"v,7\"")];
    assert_eq!(get("/page", &several).status(), 304);
    assert_eq!(get("/weak", &[("if-none-match", "\"v7\"")]).status(), 304);
    assert_eq!(of("HEAD", "/page", &[("if-none-match", "\"v,7\"")]).status(), 304);
}

#[test]
fn a_304_stays_a_304_within_other_parts() {
    for (part, status) in [("status", 202), ("number", 202), ("created", 201), ("html", 200)] {
        let path = format!("/within/{part}");
        assert_eq!(get(&path, &[]).status(), status, "{part}");
        let answer = get(&path, &[("if-none-match", "\"v7\"")]);
        assert_eq!((answer.status(), answer.text().as_str()), (304, ""), "{part}");
        assert_eq!(answer.header("x-part").as_deref(), Some("a"), "{part}");
        assert_eq!(answer.header("content-type"), None, "{part}");
    }
}

#[test]
fn a_validator_that_is_no_header_has_the_place_of_its_reply() {
    for (path, call) in [
        ("/wrong-tag", "conditions.reply(ETag::strong(\"wrong"),
        ("/wrong-time", "conditions.try_reply(validators"),
    ] {
        let answer = get(path, &[]);
        let failure = answer.failure().expect("the validator is wrong");
        let line = include_str!("conditions.rs")
            .lines()
            .position(|line| line.contains(call));
        let place = format!("it is made at {}:{}:", file!(), line.map_or(0, |at| at + 1));
        assert_eq!(failure.code(), "invalid-reply");
        assert!(failure.message().contains(&place), "{failure}");
    }
}

#[test]
fn a_tag_has_precedence_over_a_date() {
    let both = [("if-none-match", "\"other\""), ("if-modified-since", CHANGED)];
    assert_eq!(get("/page", &both).status(), 200);
    let both = [("if-match", "\"v,7\""), ("if-unmodified-since", BEFORE)];
    assert_eq!(of("PUT", "/page", &both).status(), 204);
}

#[test]
fn dates_are_compared_in_whole_seconds() {
    assert_eq!(get("/date", &[("if-modified-since", CHANGED)]).status(), 304);
    assert_eq!(get("/date", &[("if-modified-since", BEFORE)]).status(), 200);
    assert_eq!(get("/date", &[("if-modified-since", "yesterday")]).status(), 200);
    assert_eq!(of("PUT", "/page", &[("if-modified-since", CHANGED)]).status(), 204);
    assert_eq!(of("PUT", "/page", &[("if-unmodified-since", BEFORE)]).status(), 412);
    assert_eq!(of("PUT", "/page", &[("if-unmodified-since", CHANGED)]).status(), 204);
}

#[test]
fn a_time_or_tag_that_http_cannot_hold_is_an_invalid_reply() {
    let epoch = SystemTime::UNIX_EPOCH;
    let last = epoch + Duration::from_secs(253_370_764_799);
    for (time, status) in [
        (epoch, 200),
        (last, 200),
        (last + Duration::from_secs(1), 500),
        (epoch - Duration::from_secs(1), 500),
    ] {
        let answer = TestRequest::get("/").run_with(move |_| (LastModified(time), "text"));
        assert_eq!(answer.status(), status, "{time:?}");
    }
    let answer = TestRequest::get("/").run_with(|_| (ETag::strong("a\tb"), "text"));
    assert_eq!(answer.status(), 500);
}

#[test]
fn cookies_that_a_neighbour_wrote_hide_no_other() {
    let names = |header: &[u8]| {
        let request = TestRequest::get("/").header("cookie", header);
        let read = |ctx: &pointwork_guest::Context| {
            let cookies = <Cookies as pointwork_guest::FromRequest>::from_request(ctx, "")?;
            Ok::<_, Failure>(cookies.get("__Host-id").unwrap_or("none").to_owned())
        };
        request.run_with(move |ctx| read(&ctx)).text()
    };
    assert_eq!(names(b"__Host-id=good; __%48ost-id=evil"), "good");
    assert_eq!(names(b"__%48ost-id=evil"), "none");
    assert_eq!(names(b"__Host-id=good; junk=\xe4"), "good");
}

#[test]
fn a_condition_that_fails_is_412() {
    for list in ["\"v,7\"", "*"] {
        assert_eq!(of("PUT", "/page", &[("if-match", list)]).status(), 204, "{list}");
        assert_eq!(of("PUT", "/page", &[("if-none-match", list)]).status(), 412, "{list}");
    }
    for list in [
        "W/\"v,7\"",
        "\"v\"",
        "",
        "w/\"v,7\"",
        "W/ \"v,7\"",
        "a\"v,7\"",
        "\"v,7\"a",
    ] {
        assert_eq!(of("PUT", "/page", &[("if-match", list)]).status(), 412, "{list}");
    }
    // An error of a handler that reads, as of one that writes: the module may give it a body of its own.
    let [read, written] = ["GET", "PUT"].map(|method| of(method, "/page", &[("if-match", "\"v\"")]));
    assert_eq!(read.failure().map(Failure::status), Some(412));
    assert_eq!(read.failure(), written.failure());
    assert_eq!(read.header("cache-control"), None, "the parts are those of 200 and 304");
}

#[test]
fn a_tag_with_a_quotation_mark_is_no_reply() {
    let answer = TestRequest::get("/").run_with(|_| (ETag::strong("a\"b"), "page"));
    assert_eq!(answer.failure().map(Failure::code), Some("invalid-reply"));
}

#[test]
fn a_typed_header_that_is_absent_or_malformed_is_400() {
    assert_eq!(get("/agent", &[("content-length", "7")]).text(), "7");
    let answer = get("/agent", &[]);
    let message = "header `content-length`: expected one, got none";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
    assert_eq!(get("/agent", &[("content-length", "x")]).status(), 400);
}

fn key(first: u8) -> CookieKey {
    CookieKey::new(&[first; 32]).expect("it is long enough")
}

fn cookies(header: &str) -> Cookies {
    let found = std::cell::RefCell::new(None);
    let keep = |cookies: Cookies| found.replace(Some(cookies));
    TestRequest::get("/").header("cookie", header).run_with(|ctx| {
        keep(<Cookies as pointwork_guest::FromRequest>::from_request(&ctx, "cookies").expect("cookies are read"));
        "ok"
    });
    found.take().expect("the code ran")
}

#[test]
fn a_cookie_with_a_wrong_signature_is_absent() {
    let set = Cookies::default().set_signed(&key(1), ("session", "ada; admin"));
    let answer = TestRequest::get("/").run_with(move |_| (set, "ok"));
    let value = answer.cookie("session").expect("it is set");
    let of = |value: &str| cookies(&format!("session={value}")).signed(&key(1), "session");
    assert_eq!(of(&value).as_deref(), Some("ada; admin"));
    let last = value.len() - 1;
    for wrong in [
        &value[1..],
        &value[..last],
        "",
        "ada",
        &value.replace("ada", "eve"),
        &format!("{value}x"),
    ] {
        assert_eq!(of(wrong), None, "{wrong}");
    }
    assert_eq!(cookies(&format!("session={value}")).signed(&key(2), "session"), None);
}

#[test]
fn malformed_cookies_are_left_out() {
    let cookies = cookies("a=1; =2; b; c=%ff; d=%20x");
    assert_eq!(
        (cookies.get("a"), cookies.get("b"), cookies.get("d")),
        (Some("1"), None, Some(" x"))
    );
}

#[test]
fn the_first_of_several_cookies_with_one_name_counts() {
    assert_eq!(cookies("id=mine; id=other").get("id"), Some("mine"));
    assert_eq!(cookies("id=%ff; id=mine; id=other").get("id"), Some("mine"));
    let set = Cookies::default().set_signed(&key(1), ("user", "ada"));
    let signed = TestRequest::get("/").run_with(move |_| (set, "ok")).cookie("user");
    let signed = signed.expect("it is set");
    let user = |header: String| cookies(&header).signed(&key(1), "user");
    assert_eq!(user(format!("user={signed}; user=eve")).as_deref(), Some("ada"));
    assert_eq!(user(format!("user=eve; user={signed}")), None);
}

#[test]
fn a_name_of_a_cookie_that_would_be_encoded_is_500_with_the_place() {
    let text = (0..=u8::MAX).map(char::from);
    for name in text.map(|c| format!("a{c}b")).chain([String::new(), "käse".into()]) {
        let set = |cookies: Cookies| TestRequest::get("/").run_with(move |_| (cookies, "ok"));
        let answer = set(Cookies::default().set((name.clone(), "1")));
        if answer.status() == 200 {
            let sent = answer.header("set-cookie").expect("it is set");
            assert_eq!(sent, format!("{name}=1"));
            assert_eq!(cookies(&sent).get(&name), Some("1"));
            continue;
        }
        let failure = answer.failure().expect("the name is wrong");
        assert_eq!((answer.status(), failure.code()), (500, "invalid-reply"), "{name:?}");
        let place = format!("such as `session`; it is made at {}:", file!());
        assert!(failure.message().contains(&place), "{failure}");
        assert_eq!(set(Cookies::default().remove(name.clone())).status(), 500, "{name:?}");
        assert_eq!(set(Cookies::default().set_signed(&key(1), (name, "1"))).status(), 500);
    }
    for name in ["session", "__Host-id", "a.b", "$a!"] {
        let cookies = Cookies::default().set((name, "1"));
        assert_eq!(
            TestRequest::get("/").run_with(move |_| (cookies, "ok")).status(),
            200,
            "{name}"
        );
    }
}

#[test]
fn a_value_of_a_cookie_is_encoded() {
    let set = Cookies::default().set(("a", "1\r\nx-forged: 1; Path=/"));
    let answer = TestRequest::get("/").run_with(move |_| (set, "ok"));
    assert_eq!(answer.headers().len(), 1);
    assert_eq!(
        answer.cookie("a").as_deref(),
        Some("1%0D%0Ax-forged%3A%201%3B%20Path%3D%2F")
    );
}

#[test]
fn an_attribute_in_the_path_or_domain_of_a_cookie_is_500_with_the_place() {
    let set = |cookie: Cookie<'static>| {
        [
            Cookies::default().set(cookie.clone()),
            Cookies::default().remove(cookie),
        ]
    };
    let signed = |cookie: Cookie<'static>| Cookies::default().set_signed(&key(1), cookie);
    let with_path = |path: &'static str| Cookie::build(("a", "1")).path(path).build();
    let with_domain = |domain: &'static str| Cookie::build(("a", "1")).domain(domain).build();
    let one = |cookies: Cookies| TestRequest::get("/").run_with(move |_| (cookies, "ok"));
    for (cookie, problem) in [
        (with_path("/; HttpOnly"), "the path of cookie `a` has the byte 59"),
        (with_path("/\r\nx-forged: 1"), "the path of cookie `a` has the byte 13"),
        (
            with_domain("a.example;Secure"),
            "the domain of cookie `a` has the byte 59",
        ),
        (
            with_domain("a.example\u{7f}"),
            "the domain of cookie `a` has the byte 127",
        ),
    ] {
        for cookies in set(cookie.clone()) {
            let answer = one(cookies);
            let failure = answer.failure().expect("the cookie is wrong");
            assert_eq!((answer.status(), failure.code()), (500, "invalid-reply"), "{cookie:?}");
            let expected = format!("{problem}; it is made at {}:", file!());
            assert!(failure.message().starts_with(&expected), "{failure}");
            assert!(answer.headers().is_empty());
        }
        assert_eq!(one(signed(cookie)).status(), 500);
    }
    let cookies = with_path("/a b/ä").into_owned();
    let answer = one(Cookies::default().set(cookies).set(with_domain(".a.example")));
    assert_eq!((answer.status(), answer.headers().len()), (200, 1));
}

#[test]
fn a_key_that_is_short_or_absent_is_named_in_the_log_only() {
    let secret = "0123456789abcdef0123456789abcdef";
    let given = TestRequest::get("/").variable("SESSION_KEY", secret);
    let answer = given.run_with(|_| CookieKey::from_variable("SESSION_KEY").map(|_| "made"));
    assert_eq!(answer.status(), 200);
    let failure = CookieKey::from_variable("POINTWORK_TEST_NO_SUCH_KEY").expect_err("there is none");
    let message = "the module has no variable `POINTWORK_TEST_NO_SUCH_KEY`, expected 32 random bytes or more";
    assert_eq!((failure.status(), failure.message()), (500, message));
    let answer = TestRequest::get("/").run_with(|_| CookieKey::new(b"short").map(|_| "made"));
    assert_eq!(answer.message(), Some("the server could not answer the request"));
    assert_eq!(format!("{:?}", key(1)), "CookieKey");
    let _ = |reply| ReplyParts::add_to(Cookies::default(), reply);
}
