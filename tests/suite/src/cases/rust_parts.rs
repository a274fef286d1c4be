//! Parts of requests and replies that the Rust SDK reads and writes, in both forms (spec H17 to H22).

use anyhow::Result;
use pointwork::{Breaker, ModuleOptions};

use crate::case::{Harness, Live, cases};
use crate::client::{Request, Response};
use crate::fixtures::Fixture;
use crate::subject::AppSpec;

cases![
    sdk;
    a_newline_of_a_client_in_a_location_opens_no_breaker [RustBasic]: H18;
    forms_and_parameters_are_read_by_their_types [RustBasic]: H17;
    a_path_of_a_client_adds_no_attribute_to_a_cookie [RustBasic]: H18;
    a_location_of_a_client_is_encoded [RustBasic]: H18;
    a_cookie_is_signed_and_a_forged_one_is_absent [RustBasic]: H19;
    the_parts_of_a_body_are_read_as_they_arrive [RustBasic, RustAsync]: H20;
    a_body_of_parts_that_is_malformed_is_refused [RustBasic, RustAsync]: H20;
    a_reply_is_written_from_an_iterator_or_a_stream [RustBasic, RustAsync]: H21;
    a_version_that_the_client_has_is_not_sent_again [RustBasic]: H22;
];

const FORMS: [Fixture; 2] = [Fixture::RustBasic, Fixture::RustAsync];

async fn start(harness: &Harness, fixture: Fixture) -> Result<Live> {
    let options = ModuleOptions::new().breaker(Breaker::new().crashes(2));
    let module = harness.fixture(fixture).await?;
    Ok(harness
        .start(AppSpec::new().load_with("parts", module, options))
        .await?)
}

fn form(path: &str, body: impl Into<Vec<u8>>) -> Request {
    let request = Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded");
    request.body(body)
}

async fn upload(live: &Live, body: impl Into<Vec<u8>>) -> Result<Response> {
    let request = Request::new("POST", "/parts/upload").header("content-type", "multipart/form-data; boundary=b");
    Ok(live.send(request.body(body)).await?)
}

async fn a_newline_of_a_client_in_a_location_opens_no_breaker(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    for _ in 0..5 {
        for path in ["redirect", "created"] {
            for location in ["/a%0d%0aset-cookie:%20a=b", "/%09/evil.example"] {
                let reply = live.get(&format!("/parts/{path}?to={location}")).await?;
                let told = (reply.status, reply.message());
                assert_eq!(told, (500, Some("the server could not answer the request".into())));
                assert_eq!((reply.header("set-cookie"), reply.header("location")), (None, None));
            }
        }
    }
    let reply = live.get("/parts/redirect?to=/a").await?;
    assert_eq!((reply.status, reply.header("location").as_deref()), (303, Some("/a")));
    let reply = live.get("/parts/created?to=/a").await?;
    assert_eq!((reply.status, reply.text().as_str()), (201, "made"));
    live.ends_without_a_crash().await
}

async fn a_path_of_a_client_adds_no_attribute_to_a_cookie(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    for _ in 0..5 {
        for path in ["/;%20domain=example.com", "/%0d%0ax-forged:%201"] {
            let reply = live.get(&format!("/parts/cookie?to={path}")).await?;
            let told = (reply.status, reply.message());
            assert_eq!(told, (500, Some("the server could not answer the request".into())));
            assert_eq!((reply.header("set-cookie"), reply.header("x-forged")), (None, None));
        }
    }
    let reply = live.get("/parts/cookie?to=/shop").await?;
    assert_eq!(reply.header("set-cookie").as_deref(), Some("a=1; Path=/shop"));
    live.ends_without_a_crash().await
}

async fn a_location_of_a_client_is_encoded(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    for path in ["redirect", "created"] {
        let reply = live.get(&format!("/parts/{path}?to=/gr%C3%B6%C3%9Fe%20%2525")).await?;
        assert_eq!(reply.header("location").as_deref(), Some("/gr%C3%B6%C3%9Fe%20%25"));
    }
    live.ends_without_a_crash().await
}

async fn forms_and_parameters_are_read_by_their_types(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    assert_eq!(
        live.send(form("/parts/form", "user=green+tea")).await?.text(),
        "green tea"
    );
    assert_eq!(live.send(form("/parts/form", "name=x")).await?.status, 400);
    let reply = live.send(form("/parts/form", "user=%e4")).await?;
    assert_eq!(
        (reply.status, reply.message().as_deref()),
        (400, Some("body: `user`: expected UTF-8"))
    );
    let reply = live.get("/parts/redirect?to=/%e4").await?;
    assert_eq!(
        (reply.status, reply.message().as_deref()),
        (400, Some("query: `to`: expected UTF-8"))
    );
    let keys: String = (0..10_000).map(|key| format!("key{key}=1&")).collect();
    assert_eq!(live.send(form("/parts/form", keys + "user=ada")).await?.text(), "ada");
    assert_eq!(live.post_json("/parts/form", "{}").await?.status, 415);
    assert_eq!(live.get("/parts/pair/3/7").await?.text(), "3 7");
    assert_eq!(live.get("/parts/pair/3/x").await?.status, 400);
    assert_eq!(live.get("/parts/pair/3").await?.status, 500);
    live.ends_without_a_crash().await
}

async fn a_cookie_is_signed_and_a_forged_one_is_absent(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    let login = live.send(form("/parts/login", "user=ada")).await?;
    let cookie = login.header("set-cookie").unwrap_or_default();
    assert_eq!(login.status, 303, "{cookie}");
    let user = async |cookie: &str| {
        live.send(Request::new("GET", "/parts/user").header("cookie", cookie))
            .await
    };
    assert_eq!(user(&cookie).await?.text(), "ada");
    assert_eq!(user(&cookie.replace("ada", "eve")).await?.status, 404);
    assert_eq!(user("user=ada").await?.status, 404);
    live.ends_without_a_crash().await
}

fn part(content: &str) -> String {
    format!("--b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n{content}\r\n")
}

/// The number of parts and rows of a long body: the most parts that a body may have.
const MANY: usize = 1_000;

async fn the_parts_of_a_body_are_read_as_they_arrive(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = start(&harness, fixture).await?;
        let large = format!("{}{}--b--", part(&"x".repeat(3_000_000)), part("y"));
        assert_eq!(upload(&live, large).await?.text(), "2 parts, 3000001 bytes");
        let padded = part("x").replace("--b\r\n", "--b \t\r\n") + part("y").as_str() + "--b-- ";
        assert_eq!(upload(&live, padded).await?.text(), "2 parts, 2 bytes");
        let parts = part("v").repeat(MANY) + "--b--";
        let told = format!("{MANY} parts, {MANY} bytes");
        assert_eq!(upload(&live, parts).await?.text(), told);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_body_of_parts_that_is_malformed_is_refused(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = start(&harness, fixture).await?;
        let whole = part("value") + "--b--";
        for end in [0, 2, 20, whole.len() - 10, whole.len() - 1] {
            assert_eq!(upload(&live, &whole.as_bytes()[..end]).await?.status, 400, "{end}");
        }
        for body in [format!("--b\r\nx: {}", "a".repeat(1_000_000)), "a".repeat(1_000_000)] {
            assert_eq!(upload(&live, body).await?.status, 400);
        }
        for head in ["", "x-part: a\r\n", "content-disposition: form-data\r\n"] {
            let body = format!("--b\r\n{head}\r\nvalue\r\n{}--b--", part("value"));
            assert_eq!(upload(&live, body).await?.status, 400, "{head}");
        }
        let not_utf8 = [
            &b"--b\r\ncontent-disposition: form-data; name=\"\xe4\"\r\n\r\n"[..],
            b"v\r\n--b--",
        ];
        assert_eq!(upload(&live, not_utf8.concat()).await?.status, 400);
        let no_boundary = Request::new("POST", "/parts/upload").header("content-type", "multipart/form-data");
        assert_eq!(live.send(no_boundary.body("--b--")).await?.status, 400);
        assert_eq!(live.post_json("/parts/upload", "{}").await?.status, 415);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_reply_is_written_from_an_iterator_or_a_stream(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = start(&harness, fixture).await?;
        let number = MANY;
        let reply = live.get(&format!("/parts/rows/{number}")).await?;
        let rows: String = (0..number).map(|row| format!("{row}\n")).collect();
        assert_eq!((reply.status, reply.text() == rows), (200, true));
        assert_eq!(reply.header("content-type").as_deref(), Some("text/csv"));
        assert!(live.get("/parts/broken").await.is_err(), "the reply is incomplete");
        assert_eq!(live.get("/parts/rows/1").await?.text(), "0\n");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_version_that_the_client_has_is_not_sent_again(harness: Harness) -> Result<()> {
    let live = start(&harness, Fixture::RustBasic).await?;
    let page = live.get("/parts/page").await?;
    assert_eq!((page.status, page.header("etag").as_deref()), (200, Some("\"v7\"")));
    let known = Request::new("GET", "/parts/page").header("if-none-match", "W/\"v7\"");
    let reply = live.send(known).await?;
    assert_eq!(
        (reply.status, reply.text().as_str(), reply.header("etag").as_deref()),
        (304, "", Some("\"v7\""))
    );
    live.ends_without_a_crash().await
}
