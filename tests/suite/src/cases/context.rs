//! The request as a handler sees it (spec H2, H9).

use anyhow::Result;

use super::at_root;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::guest::{Program, Step};
use crate::subject::AppSpec;

cases![
    sdk and adapter;
    parameters_are_there_before_the_handler_runs: H2;
    a_parameter_that_the_pattern_lacks_is_none: H2;
    the_query_arrives_as_it_was_sent: H9;
    an_empty_query_is_not_an_absent_one: H9 in hosts;
    duplicate_headers_arrive_as_two: H9 in hosts;
    a_header_is_found_whatever_its_case: H9;
    a_header_that_is_not_utf_8_has_a_character_for_each_byte: H9 in hosts;
    header_values_need_not_be_text: H9 in hosts;
    the_authority_of_the_target_is_the_host: H9 of adapter;
    the_authority_of_http_2_is_the_host: H9 of adapter in hosts;
    the_body_arrives_whole: H9 in hosts;
    a_chunked_body_arrives_whole: H9 of adapter in hosts;
    the_body_can_be_taken_once: H9;
    the_request_id_of_the_client_is_kept: H9 of adapter;
    a_request_without_an_id_gets_one: H9 of adapter;
    an_extension_lasts_for_the_request: H9;
];

/// The first half of the row (spec H2). The second half, that middleware which runs before the match sees no
/// parameters, needs the framework's own middleware: the tests of each framework in `tests/wire/tests/wire` and
/// `examples/mount/tests` prove it.
async fn parameters_are_there_before_the_handler_runs(harness: Harness) -> Result<()> {
    let module = at_root(|t| t.get("a/:x/:y", Program::new().param("y").say("-").param("x")));
    let live = harness.start(AppSpec::new().load("m", module)).await?;
    assert_eq!(live.get("/a/1/2").await?.text(), "2-1");
    live.shutdown().await;
    Ok(())
}

async fn a_parameter_that_the_pattern_lacks_is_none(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("a/:x", Program::new().param("y")))))
        .await?;
    assert_eq!(live.get("/a/1").await?.text(), "(none)");
    live.shutdown().await;
    Ok(())
}

fn telling(step: Step) -> AppSpec {
    AppSpec::new().load(
        "m",
        at_root(|t| t.route("it", None, &["it"], Program::new().step(step))),
    )
}

async fn the_query_arrives_as_it_was_sent(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Query)).await?;
    assert_eq!(live.get("/it?a=1&b=%20x+y&a=2").await?.text(), "a=1&b=%20x+y&a=2");
    assert_eq!(live.get("/it?x?y").await?.text(), "x?y");
    live.shutdown().await;
    Ok(())
}

async fn an_empty_query_is_not_an_absent_one(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Query)).await?;
    assert_eq!(live.get("/it").await?.text(), "(none)");
    assert_eq!(live.get("/it?").await?.text(), "");
    live.shutdown().await;
    Ok(())
}

async fn duplicate_headers_arrive_as_two(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Headers)).await?;
    let request = Request::new("GET", "/it")
        .header("X-Two", "one")
        .header("x-other", "o")
        .header("x-two", "two");
    let response = live.send(request).await?;
    let text = response.text();
    let twos: Vec<_> = text.lines().filter(|line| line.starts_with("x-two=")).collect();
    assert_eq!(twos, ["x-two=one", "x-two=two"]);
    live.shutdown().await;
    Ok(())
}

async fn a_header_is_found_whatever_its_case(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Header("X-oNe".to_owned()))).await?;
    assert_eq!(
        live.send(Request::new("GET", "/it").header("x-ONE", "found"))
            .await?
            .text(),
        "found"
    );
    assert_eq!(live.get("/it").await?.text(), "(none)");
    live.shutdown().await;
    Ok(())
}

async fn a_header_that_is_not_utf_8_has_a_character_for_each_byte(harness: Harness) -> Result<()> {
    let program = Program::new().header_of_request("x-raw");
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    for (sent, told) in [(&b"a\xffz"[..], "aÿz"), ("aßz".as_bytes(), "aßz")] {
        let response = live.send(Request::new("GET", "/it").header("x-raw", sent)).await?;
        assert_eq!(response.text(), told);
    }
    live.shutdown().await;
    Ok(())
}

/// A guest that tells the authority, the header `Host`, and every line of `Host` among all headers.
fn telling_the_host() -> AppSpec {
    let program = Program::new()
        .step(Step::Authority)
        .say("|")
        .header_of_request("host")
        .say("|")
        .step(Step::Headers);
    AppSpec::new().load("m", at_root(|t| t.get("it", program)))
}

fn hosts(told: &str) -> Vec<&str> {
    let mut parts = told.splitn(3, '|');
    let mut hosts: Vec<_> = parts.by_ref().take(2).collect();
    let lines = parts.next().unwrap_or_default().lines();
    hosts.extend(lines.filter_map(|line| line.strip_prefix("host=")));
    hosts
}

async fn the_authority_of_the_target_is_the_host(harness: Harness) -> Result<()> {
    let live = harness.start(telling_the_host()).await?;
    for (target, host) in [("/it", "a:8080"), ("http://A:8080/it", "A:8080")] {
        let request = Request::new("GET", target).header("host", "a:8080");
        let told = live.send(request).await?.text();
        assert_eq!(hosts(&told), [host; 3], "{target}: {told}");
    }
    live.shutdown().await;
    Ok(())
}

async fn the_authority_of_http_2_is_the_host(harness: Harness) -> Result<()> {
    let live = harness.start(telling_the_host()).await?;
    let connection = live.connect_http2().await?;
    let told = connection.send(Request::new("GET", "/it")).await?.text();
    assert_eq!(hosts(&told), [live.address().to_string().as_str(); 3], "{told}");
    live.shutdown().await;
    Ok(())
}

async fn header_values_need_not_be_text(harness: Harness) -> Result<()> {
    let program = Program::new()
        .step(Step::Headers)
        .replies(crate::guest::ReplyBody::Bytes);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    let response = live
        .send(Request::new("GET", "/it").header("x-raw", [b'a', 0xff, b'z']))
        .await?;
    let lines: Vec<_> = response.body.split(|&byte| byte == b'\n').collect();
    assert!(lines.contains(&&b"x-raw=a\xffz"[..]), "{}", response.text());
    live.shutdown().await;
    Ok(())
}

async fn the_body_arrives_whole(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Body)).await?;
    let long = "0123456789".repeat(20_000);
    for body in ["", "short", &long] {
        let response = live.send(Request::new("POST", "/it").body(body)).await?;
        assert_eq!(response.status, 200);
        assert!(
            response.text() == body,
            "{} bytes came back of {}",
            response.body.len(),
            body.len()
        );
    }
    live.shutdown().await;
    Ok(())
}

async fn a_chunked_body_arrives_whole(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::Body)).await?;
    let request = Request::new("POST", "/it")
        .header("transfer-encoding", "chunked")
        .body("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_eq!(live.send(request).await?.text(), "abcde");
    live.shutdown().await;
    Ok(())
}

async fn the_body_can_be_taken_once(harness: Harness) -> Result<()> {
    let program = Program::new().step(Step::Body).step(Step::Body);
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.post("it", program))))
        .await?;
    assert_eq!(
        live.send(Request::new("POST", "/it").body("once")).await?.text(),
        "failed gone"
    );
    live.shutdown().await;
    Ok(())
}

async fn the_request_id_of_the_client_is_kept(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::RequestId)).await?;
    let request = Request::new("GET", "/it").header("x-request-id", "abc-123");
    assert_eq!(live.send(request).await?.text(), "abc-123");
    live.shutdown().await;
    Ok(())
}

async fn a_request_without_an_id_gets_one(harness: Harness) -> Result<()> {
    let live = harness.start(telling(Step::RequestId)).await?;
    let (first, second) = (live.get("/it").await?.text(), live.get("/it").await?.text());
    assert!(!first.is_empty() && first != second, "`{first}` and `{second}`");
    let insane = Request::new("GET", "/it").header("x-request-id", "a b\"c");
    assert_ne!(
        live.send(insane).await?.text(),
        "a b\"c",
        "an id that is no sane token is replaced"
    );
    live.shutdown().await;
    Ok(())
}

async fn an_extension_lasts_for_the_request(harness: Harness) -> Result<()> {
    let program = Program::new()
        .step(Step::Extension("tenant".to_owned()))
        .step(Step::SetExtension("tenant".to_owned()))
        .step(Step::Extension("tenant".to_owned()))
        .say("!");
    let live = harness
        .start(AppSpec::new().load("m", at_root(|t| t.get("it", program))))
        .await?;
    for _ in 0..2 {
        assert_eq!(live.get("/it").await?.text(), "(none)!");
    }
    live.shutdown().await;
    Ok(())
}
