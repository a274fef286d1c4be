//! Requests of the module `testing`, and what a handler gets of them.

use std::time::{Duration, SystemTime};

use pointwork_guest::testing::TestRequest;
use pointwork_guest::{AsyncContext, Context, Failure, Reply, controller, events};
use serde_json::{Value, json};

struct Shop;

#[controller("shop")]
impl Shop {
    #[get("where")]
    fn place(ctx: &Context) -> String {
        let left = ctx
            .deadline()
            .and_then(|end| end.duration_since(ctx.received_at()).ok());
        format!(
            "{}://{} {} {:?} {:?} {}",
            ctx.scheme(),
            ctx.authority().unwrap_or_default(),
            ctx.http_version(),
            ctx.remote_address(),
            left,
            ctx.is_cancelled()
        )
    }

    #[get("header")]
    fn header(ctx: &Context) -> Option<String> {
        ctx.header("x-name")
    }

    #[get("thrown")]
    fn thrown(ctx: &Context) -> Failure {
        ctx.throw(429_u16, "slower")
            .header("retry-after", "1")
            .detail("left", 0)
    }

    #[post("none", body = "none")]
    fn none(ctx: &Context) -> Result<String, Failure> {
        ctx.text()
    }

    #[post("text")]
    fn text(text: String) -> String {
        text
    }
}

#[test]
fn a_request_has_the_connection_that_the_test_sets() {
    let answer = TestRequest::get("/shop/where").run::<Shop>();
    assert_eq!(answer.text(), "http://localhost 1.1 None None false");
    let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let answer = TestRequest::get("/shop/where")
        .scheme("https")
        .authority("shop.example")
        .http_version("2")
        .remote_address("192.0.2.1:4711")
        .received_at(began)
        .deadline(began + Duration::from_millis(1500))
        .cancelled()
        .run::<Shop>();
    let expected = r#"https://shop.example 2 Some("192.0.2.1:4711") Some(1.5s) true"#;
    assert_eq!(answer.text(), expected);
}

#[test]
fn a_header_that_is_not_utf_8_has_a_character_for_each_byte() {
    let answer = TestRequest::get("/shop/header")
        .header("x-name", [b'a', 0xfc])
        .run::<Shop>();
    assert_eq!(answer.text(), "aü");
}

#[test]
fn a_thrown_error_shows_its_header_and_its_details() {
    let answer = TestRequest::get("/shop/thrown").run::<Shop>();
    assert_eq!(
        (answer.status(), answer.header("Retry-After").as_deref()),
        (429, Some("1"))
    );
    assert_eq!(answer.json::<Value>(), json!({ "message": "slower", "left": 0 }));
}

#[test]
fn a_route_without_a_body_has_none() {
    let answer = TestRequest::post("/shop/none").body("tea").run::<Shop>();
    assert_eq!(answer.message(), Some("the server could not answer the request"));
}

#[test]
fn a_text_that_is_not_utf_8_is_400() {
    let answer = TestRequest::post("/shop/text").body([0xfc]).run::<Shop>();
    assert_eq!(answer.status(), 400);
    let message = "the body is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0";
    assert_eq!(answer.message(), Some(message));
}

#[test]
fn a_text_is_utf8_without_a_byte_order_mark() {
    let request = || TestRequest::post("/shop/text");
    let answer = request().body("\u{feff}tea\u{feff}").run::<Shop>();
    assert_eq!(answer.text(), "tea\u{feff}");
    for (content_type, status) in [
        ("text/plain; charset=UTF-8", 200),
        ("text/plain; charset=us-ascii", 200),
        ("text/plain; charset=utf-16", 415),
        ("text/csv; charset=\"latin1\"", 415),
    ] {
        let answer = request().header("content-type", content_type).body("tea").run::<Shop>();
        assert_eq!(answer.status(), status, "{content_type}");
    }
}

#[test]
fn a_head_request_is_answered_by_the_route_for_get() {
    let answer = TestRequest::new("HEAD", "/shop/header").header("x-name", "ada");
    assert_eq!(answer.run::<Shop>().text(), "ada");
}

events! {
    /// The stock of a product.
    pub Stock = "db:stock": u64 => u32;
    /// A product was sold.
    pub Sold = "shop:sold": u64;
}

#[test]
fn code_without_a_controller_runs_with_the_context_of_a_request() {
    let answer = TestRequest::get("/shop/7")
        .route("/shop/:id")
        .remote_address("192.0.2.7:4711")
        .run_with(|ctx| format!("{:?} {:?}", ctx.param("id"), ctx.remote_address()));
    assert_eq!(answer.text(), r#"Some("7") Some("192.0.2.7:4711")"#);
    let answer = TestRequest::get("/").run_with(|ctx| ctx.set_extension("seen", "yes"));
    assert!(answer.is_open());
    assert_eq!(answer.extension("seen").as_deref(), Some("yes"));
    let answer = TestRequest::get("/")
        .on::<Stock>(|_| 3)
        .run_with_async(async |ctx: AsyncContext| ctx.call::<Stock>(7).await.map(|stock| stock.to_string()));
    assert_eq!(answer.text(), "3");
}

#[test]
fn calls_are_recorded_in_order_with_those_that_fail() {
    let answer = TestRequest::get("/").run_with(|ctx| {
        ctx.emit::<Sold>(1).emit::<Sold>(2);
        assert!(ctx.call::<Stock>(3).is_err());
        ctx.call::<Stock>(4).map(|stock| stock.to_string())
    });
    assert_eq!(answer.called::<Stock>(), [3, 4]);
    assert_eq!(answer.emitted::<Sold>(), [1, 2]);
}

#[test]
fn headers_of_the_reply_are_all_there() {
    let answer = TestRequest::get("/").run_with(|_| {
        Reply::new(204_u16)
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
    });
    let cookies: Vec<_> = answer
        .headers()
        .into_iter()
        .filter(|(name, _)| name == "set-cookie")
        .collect();
    assert_eq!(
        cookies,
        [
            ("set-cookie".into(), b"a=1".to_vec()),
            ("set-cookie".into(), b"b=2".to_vec())
        ]
    );
}
