use actix_web::http::header::HeaderValue;
use actix_web::test::TestRequest;

use super::*;

fn parts(request: TestRequest) -> Result<Parts, StatusCode> {
    convert(request.to_request().head(), None)
}

#[test]
fn nothing_of_a_head_is_lost() {
    let request = TestRequest::default()
        .method(actix_web::http::Method::from_bytes(b"MKWORKSPACE").unwrap())
        .uri("/a%2Fb/../c//?q=%41&r")
        .version(actix_web::http::Version::HTTP_10)
        .append_header(("x-twice", "1"))
        .append_header(("X-Twice", "2"))
        .append_header(("x-empty", ""))
        .append_header(("x-text", HeaderValue::from_bytes(b"caf\xe9").unwrap()));
    let parts = parts(request).unwrap();
    assert_eq!(parts.method.as_str(), "MKWORKSPACE");
    assert_eq!(parts.uri.to_string(), "/a%2Fb/../c//?q=%41&r");
    assert_eq!(parts.version, Version::HTTP_10);
    assert_eq!(parts.headers.get_all("x-twice").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(parts.headers["x-empty"], "");
    assert_eq!(parts.headers["x-text"].as_bytes(), b"caf\xe9");
}

#[test]
fn every_form_of_target_stays_what_it_is() {
    for text in ["/", "/?", "/a?b", "*", "http://h:1/a?b", "h:80"] {
        let (length, uri) = target(&text.parse().unwrap()).unwrap();
        assert_eq!((length, uri.to_string().as_str()), (text.len(), text));
    }
}

#[test]
fn a_head_has_to_keep_to_both_limits() {
    let head = "GET /hello HTTP/1.1\r\nhost: a\r\nx: y\r\n\r\n";
    let request = || {
        let request = TestRequest::default().uri("/hello");
        request
            .append_header(("host", "a"))
            .append_header(("x", "y"))
            .to_request()
    };
    for (bytes, lines, fits) in [(0, 2, true), (1, 2, false), (0, 1, false)] {
        let mut limits = ServerOptions::default();
        limits.max_header_bytes = u32::try_from(head.len()).unwrap() - bytes;
        limits.max_headers = lines;
        assert_eq!(convert(request().head(), Some(&limits)).is_ok(), fits, "{limits:?}");
    }
}
