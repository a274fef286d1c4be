use actix_web::test::TestRequest;

use super::*;

#[test]
fn nothing_of_a_head_is_lost() {
    let mut request = TestRequest::default()
        .method(actix_web::http::Method::from_bytes(b"MKWORKSPACE").unwrap())
        .uri("/a%2Fb/../c//?q=%41&r")
        .version(actix_web::http::Version::HTTP_10)
        .append_header(("x-twice", "1"))
        .append_header(("X-Twice", "2"))
        .append_header((
            "x-text",
            actix_web::http::header::HeaderValue::from_bytes(b"caf\xe9").unwrap(),
        ))
        .to_srv_request();
    let parts = head(&mut request, None).unwrap();
    assert_eq!(parts.method.as_str(), "MKWORKSPACE");
    assert_eq!(parts.uri.to_string(), "/a%2Fb/../c//?q=%41&r");
    assert_eq!(parts.version, Version::HTTP_10);
    assert_eq!(parts.headers.get_all("x-twice").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(parts.headers["x-text"].as_bytes(), b"caf\xe9");
}

#[test]
fn every_form_of_target_stays_what_it_is() {
    for text in ["/", "/?", "/a?b", "*", "http://h:1/a?b", "h:80"] {
        let uri = text.parse().unwrap();
        assert_eq!(target(&uri).unwrap().to_string(), text);
    }
}

#[test]
fn the_extensions_of_a_middleware_come_along() {
    let mut request = TestRequest::default().to_srv_request();
    let extensions = Extensions::default();
    request.extensions_mut().insert(extensions.clone());
    let parts = head(&mut request, None).unwrap();
    extensions.set("user", "ada");
    assert_eq!(
        parts.extensions.get::<Extensions>().unwrap().get("user").as_deref(),
        Some("ada")
    );
}
