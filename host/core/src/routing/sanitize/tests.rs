use http::Response;

use super::*;

fn head(status: u16, headers: &[(&str, &str)]) -> Parts {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap().into_parts().0
}

fn framing(method: Method, status: u16, known_length: Option<u64>) -> (BodyRule, Option<u64>) {
    let sanitized = sanitize(&method, &mut head(status, &[]), known_length).unwrap();
    (sanitized.body, sanitized.content_length)
}

#[test]
fn an_ordinary_head_stays_as_it_is() {
    let mut head = head(
        200,
        &[
            ("content-type", "text/plain"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
        ],
    );
    let sanitized = sanitize(&Method::GET, &mut head, Some(5)).unwrap();
    assert_eq!(
        sanitized,
        Sanitized {
            stripped: vec![],
            body: BodyRule::Keep,
            content_length: Some(5)
        }
    );
    assert_eq!(head.headers.len(), 3);
}

#[test]
fn headers_of_framing_and_connection_are_stripped() {
    let names = [
        "connection",
        "content-length",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let mut headers: Vec<_> = names.iter().map(|name| (*name, "1")).collect();
    headers.extend([
        ("content-length", "2"),
        ("x-kept", "1"),
        ("proxy-authenticate", "Basic"),
    ]);
    let mut head = head(407, &headers);
    let sanitized = sanitize(&Method::GET, &mut head, None).unwrap();
    let mut stripped: Vec<_> = sanitized.stripped.iter().map(HeaderName::as_str).collect();
    stripped.sort_unstable();
    assert_eq!(stripped, names);
    assert_eq!(head.headers.len(), 2);
    assert!(head.headers.contains_key("x-kept") && head.headers.contains_key("proxy-authenticate"));
}

#[test]
fn headers_that_connection_names_are_stripped() {
    let mut head = head(
        200,
        &[
            ("connection", "close, X-Private"),
            ("connection", "x-other,,keep alive, connection"),
            ("x-private", "1"),
            ("x-other", "1"),
            ("x-kept", "1"),
        ],
    );
    let sanitized = sanitize(&Method::GET, &mut head, None).unwrap();
    assert_eq!(sanitized.stripped, ["connection", "x-private", "x-other"]);
    assert_eq!(head.headers.len(), 1);
}

#[test]
fn a_head_answer_keeps_the_length_and_loses_the_body() {
    assert_eq!(framing(Method::HEAD, 200, Some(7)), (BodyRule::Drop, Some(7)));
    assert_eq!(framing(Method::HEAD, 404, None), (BodyRule::Drop, None));
    assert_eq!(framing(Method::HEAD, 204, Some(7)), (BodyRule::Drop, None));
}

#[test]
fn a_status_without_a_body_loses_it() {
    assert_eq!(framing(Method::GET, 204, Some(7)), (BodyRule::Drop, None));
    assert_eq!(framing(Method::GET, 304, Some(7)), (BodyRule::Drop, None));
    assert_eq!(framing(Method::GET, 205, Some(7)), (BodyRule::Drop, Some(0)));
}

#[test]
fn connect_has_a_body_only_if_it_fails() {
    assert_eq!(framing(Method::CONNECT, 200, Some(7)), (BodyRule::Drop, None));
    assert_eq!(framing(Method::CONNECT, 403, Some(7)), (BodyRule::Keep, Some(7)));
}

#[test]
fn a_status_that_is_no_final_answer_is_refused() {
    for status in [100, 101, 103, 199, 600, 999] {
        let mut head = head(status, &[("connection", "close")]);
        let error = sanitize(&Method::GET, &mut head, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("status {status} is not a final answer, expected 200 to 599")
        );
        assert_eq!(head.headers.len(), 1);
    }
    assert_eq!(framing(Method::GET, 599, None), (BodyRule::Keep, None));
}
