use super::*;

fn taken(text: &str) -> Result<Option<Head>, StatusCode> {
    take(&mut BytesMut::from(text), &ServerOptions::default())
}

fn stand_in(text: &str) -> String {
    let head = taken(text).unwrap().unwrap();
    String::from_utf8(head.stand_in.to_vec()).unwrap()
}

#[test]
fn the_stand_in_says_what_concerns_the_connection() {
    for (text, expected) in [
        (
            "GET /a?b HTTP/1.1\r\nhost: x\r\nx: y\r\n\r\n",
            "GET /a?b HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nconnection: x, Close\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        ),
        (
            "GET / HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.0\r\nhost: a\r\ncontent-length: 0\r\n\r\n",
        ),
        (
            "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
            "GET / HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
        ),
        (
            "PUT / HTTP/1.1\r\ncontent-length: 007\r\nexpect: 100-continue\r\n\r\n",
            "PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 7\r\n\r\n",
        ),
        (
            "PUT / HTTP/1.1\r\ntransfer-encoding: Chunked\r\nupgrade: websocket\r\n\r\n",
            "PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
        ),
        ("CONNECT h:1 HTTP/1.1\r\n\r\n", "TUNNEL h:1 HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("GET /\"{} HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
    ] {
        assert_eq!(stand_in(text), expected, "{text:?}");
    }
}

#[test]
fn a_head_is_taken_when_it_is_whole() {
    let text = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    for length in 0..text.len() {
        assert!(taken(&text[..length]).unwrap().is_none(), "{length}");
    }
    let mut bytes = BytesMut::from(format!("{text}rest").as_bytes());
    assert!(take(&mut bytes, &ServerOptions::default()).unwrap().is_some());
    assert_eq!(bytes, "rest");
}

#[test]
fn limits_hold_to_the_byte_and_the_line() {
    let mut options = ServerOptions::default();
    options.max_header_bytes = 30;
    options.max_headers = 2;
    let status = |text: &str| take(&mut BytesMut::from(text), &options).err();
    assert_eq!(
        status("GET / HTTP/1.1\r\na: b\r\nc: ddd\r\n\r\n"),
        Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    );
    assert_eq!(status("GET / HTTP/1.1\r\na: b\r\nc: d\r\n\r\n"), None);
    assert_eq!(
        status("GET / HTTP/1.1\r\na:\r\nb:\r\nc:\r\n\r\n"),
        Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    );
    assert_eq!(
        status(&"G".repeat(30)),
        Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    );
    options.max_headers = usize::MAX;
    options.max_header_bytes = u32::MAX;
    let many = "x: y\r\n".repeat(5000);
    let head = take(
        &mut BytesMut::from(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()),
        &options,
    );
    assert_eq!(
        head.unwrap().unwrap().arrived.parts.headers.get_all("x").iter().count(),
        5000
    );
}

#[test]
fn only_a_body_that_is_expected_is_waited_for() {
    let expects = |text: &str| taken(text).unwrap().unwrap().arrived.expects_continue;
    assert!(expects(
        "PUT / HTTP/1.1\r\nexpect: 100-Continue\r\ncontent-length: 1\r\n\r\n"
    ));
    assert!(!expects(
        "PUT / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 0\r\n\r\n"
    ));
    assert!(!expects(
        "PUT / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n"
    ));
    assert!(!expects("PUT / HTTP/1.1\r\nexpect: more\r\ncontent-length: 1\r\n\r\n"));
}
