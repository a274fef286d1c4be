use super::*;

fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    let header =
        |(name, value): &(&'static str, &'static str)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    let mut map = HeaderMap::new();
    headers.iter().map(header).for_each(|(name, value)| {
        map.append(name, value);
    });
    map
}

/// Whether a reply of 7 bytes has its body, and the length that it has then.
fn framed(method: Method, status: u16) -> (bool, Option<u64>) {
    framing(&method, StatusCode::from_u16(status).unwrap(), Some(7))
}

#[test]
fn an_ordinary_head_stays_as_it_is() {
    let mut headers = headers(&[
        ("content-type", "text/plain"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    ]);
    assert!(strip(&mut headers).is_empty());
    assert_eq!(headers.len(), 3);
    assert_eq!(framed(Method::GET, 200), (true, Some(7)));
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
    let mut all: Vec<_> = names.iter().map(|name| (*name, "1")).collect();
    all.extend([
        ("content-length", "2"),
        ("x-kept", "1"),
        ("proxy-authenticate", "Basic"),
    ]);
    let mut headers = headers(&all);
    let stripped = strip(&mut headers);
    let mut stripped: Vec<_> = stripped.iter().map(HeaderName::as_str).collect();
    stripped.sort_unstable();
    assert_eq!(stripped, names);
    assert_eq!(headers.len(), 2);
    assert!(headers.contains_key("x-kept") && headers.contains_key("proxy-authenticate"));
}

#[test]
fn headers_that_connection_names_are_stripped() {
    let mut headers = headers(&[
        ("connection", "close, X-Private"),
        ("connection", "x-other,,keep alive, connection"),
        ("x-private", "1"),
        ("x-other", "1"),
        ("x-kept", "1"),
    ]);
    assert_eq!(strip(&mut headers), ["connection", "x-private", "x-other"]);
    assert_eq!(headers.len(), 1);
}

#[test]
fn a_head_answer_keeps_the_length_and_loses_the_body() {
    assert_eq!(framed(Method::HEAD, 200), (false, Some(7)));
    assert_eq!(framing(&Method::HEAD, StatusCode::NOT_FOUND, None), (false, None));
    assert_eq!(framed(Method::HEAD, 204), (false, None));
}

#[test]
fn a_status_without_a_body_loses_it() {
    assert_eq!(framed(Method::GET, 204), (false, None));
    assert_eq!(framed(Method::GET, 304), (false, None));
    assert_eq!(framed(Method::GET, 205), (false, Some(0)));
}

#[test]
fn connect_has_a_body_only_if_it_fails() {
    assert_eq!(framed(Method::CONNECT, 200), (false, None));
    assert_eq!(framed(Method::CONNECT, 205), (false, None));
    assert_eq!(framed(Method::CONNECT, 403), (true, Some(7)));
}

#[test]
fn a_status_that_is_no_final_answer_is_refused() {
    for status in [100, 101, 103, 199, 600, 999] {
        let reply = || Response::builder().status(status).body(Body::from("body")).unwrap();
        let expected = format!("status {status} is not a final answer, expected 200 to 599");
        assert_eq!(check(&reply().into_parts().0), Err(expected));
        let finished = finish(&Method::GET, &RequestId::from_headers(&HeaderMap::new()), reply());
        assert_eq!(finished.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
    let last = Response::builder().status(599).body(()).unwrap();
    assert_eq!(check(&last.into_parts().0), Ok(()));
}
