use http::Request;

use super::*;

fn head(version: Version, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method("POST").uri(target).version(version);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn one(headers: &[(&str, &str)]) -> Result<(), Refusal> {
    let mut all = vec![("host", "shop.example")];
    all.extend(headers);
    check(&head(Version::HTTP_11, "/", &all))
}

fn two(target: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
    check(&head(Version::HTTP_2, target, headers))
}

#[test]
fn http_1_1_needs_one_host() {
    let with = |target, headers| check(&head(Version::HTTP_11, target, headers));
    assert_eq!(with("/", &[("host", "shop.example:8080")]), Ok(()));
    assert_eq!(with("/", &[("host", "[::1]:80")]), Ok(()));
    assert_eq!(with("/", &[]), Err(Refusal::NoHost));
    assert_eq!(with("/", &[("host", "a"), ("host", "b")]), Err(Refusal::SeveralHosts));
    assert_eq!(with("/", &[("host", "a"), ("host", "a")]), Err(Refusal::SeveralHosts));
    assert_eq!(
        with("http://a/", &[("host", "a"), ("host", "a")]),
        Err(Refusal::SeveralHosts)
    );
}

#[test]
fn an_authority_in_the_target_replaces_the_host() {
    let with = |headers| check(&head(Version::HTTP_11, "http://shop.example/a", headers));
    assert_eq!(with(&[]), Err(Refusal::NoHost));
    assert_eq!(with(&[("host", "a b")]), Err(Refusal::BadHost));
    assert_eq!(with(&[("host", "other.example")]), Ok(()));
    assert_eq!(check(&head(Version::HTTP_2, "https://shop.example/a", &[])), Ok(()));
    assert_eq!(check(&head(Version::HTTP_10, "http://shop.example/a", &[])), Ok(()));
    for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
        for headers in [&[][..], &[("host", "other.example")], &[("host", "shop.example")]] {
            let mut head = head(version, "http://shop.example/a", headers);
            settle_host(&mut head);
            let hosts: Vec<_> = head.headers.get_all("host").iter().collect();
            assert_eq!(hosts, ["shop.example"], "{version:?} {headers:?}");
        }
    }
}

#[test]
fn http_1_0_needs_no_host_but_takes_only_one() {
    assert_eq!(check(&head(Version::HTTP_10, "/", &[])), Ok(()));
    assert_eq!(
        check(&head(Version::HTTP_10, "/", &[("host", "a"), ("host", "b")])),
        Err(Refusal::SeveralHosts)
    );
}

/// The authority of `Host`, of an absolute target and of `:authority` has one grammar.
#[test]
fn a_malformed_authority_is_refused_wherever_it_comes_from() {
    for bad in [
        "",
        ":80",
        "a b",
        "a/b",
        "user@a",
        "user:word@a",
        "@a",
        "a?b",
        "a:b:c",
        "a#",
        "http://a",
        "a\tb",
        "[::1",
        "::1]",
        "[::1]x",
        "[]",
        "[::g]",
        "[1.2.3.4]",
        "[fe80::1%25eth0]",
        "[v1.a]",
        "a:port",
        "a:+1",
        "a:-1",
        "a:65536",
        "a:99999999999",
        "a:80 ",
        "[::1]:x",
        "[::1]:65536",
        "a%",
        "a%4",
        "a%20b",
        "a\\b",
        "a|b",
    ] {
        let host = check(&head(Version::HTTP_11, "/", &[("host", bad)]));
        assert_eq!(host, Err(Refusal::BadHost), "{bad}");
        // The type of the target refuses most of them by itself.
        let Ok(target) = http::Uri::try_from(format!("http://{bad}/a")) else {
            continue;
        };
        if target.path() != "/a" {
            continue;
        }
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let mut head = head(version, "/", &[("host", "a")]);
            head.uri = target.clone();
            assert_eq!(check(&head), Err(Refusal::BadAuthority), "{bad}");
        }
    }
}

#[test]
fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
    for good in [
        "a",
        "a.",
        "A-b.example",
        "a_b",
        "192.0.2.1:8080",
        "[::1]",
        "[2001:db8::1]:443",
        "[::ffff:192.0.2.1]:0",
        "a:",
        "a:0",
        "a:65535",
        "a:00080",
        "~!$&'()*+,;=",
    ] {
        assert_eq!(check(&head(Version::HTTP_11, "/", &[("host", good)])), Ok(()), "{good}");
        let target = format!("http://{good}/");
        assert_eq!(
            check(&head(Version::HTTP_2, &target, &[("host", good)])),
            Ok(()),
            "{good}"
        );
    }
}

#[test]
fn the_scheme_of_a_target_begins_with_a_letter() {
    for (target, verdict) in [
        ("h2c://a/", Ok(())),
        ("://a/", Err(Refusal::BadScheme)),
        ("1http://a/", Err(Refusal::BadScheme)),
    ] {
        assert_eq!(
            check(&head(Version::HTTP_11, target, &[("host", "a")])),
            verdict,
            "{target}"
        );
    }
}

#[test]
fn a_connect_to_an_authority_needs_a_port() {
    let connect = |target| {
        let mut head = head(Version::HTTP_11, target, &[("host", "a")]);
        head.method = Method::CONNECT;
        check(&head)
    };
    assert_eq!(connect("a:80"), Ok(()));
    assert_eq!(connect("/a"), Ok(()));
    for target in ["a", "a:"] {
        assert_eq!(connect(target), Err(Refusal::BadAuthority), "{target}");
    }
}

#[test]
fn http_2_takes_host_or_authority_if_they_agree() {
    assert_eq!(two("https://shop.example/a", &[("host", "Shop.Example:443")]), Ok(()));
    assert_eq!(two("http://shop.example:80/a", &[("host", "shop.example")]), Ok(()));
    assert_eq!(two("/a", &[("host", "shop.example")]), Ok(()));
    assert_eq!(two("/a", &[]), Err(Refusal::NoHost));
    for host in ["other.example", "shop.example:80", ""] {
        assert!(two("https://shop.example/a", &[("host", host)]).is_err(), "{host}");
    }
}

#[test]
fn http_2_has_no_headers_of_the_connection() {
    for name in ["connection", "keep-alive", "proxy-connection", "upgrade"] {
        assert_eq!(
            two("http://a/", &[(name, "x")]),
            Err(Refusal::ConnectionHeader),
            "{name}"
        );
        assert_eq!(one(&[(name, "x")]), Ok(()), "{name}");
    }
    assert_eq!(two("http://a/", &[("te", "trailers")]), Ok(()));
}

#[test]
fn http_2_has_no_blanks_around_a_value() {
    for value in [" y", "y ", "\ty", "y\t", " "] {
        assert_eq!(
            two("http://a/", &[("x", value)]),
            Err(Refusal::PaddedValue),
            "{value:?}"
        );
    }
    assert_eq!(two("http://a/", &[("x", "y z"), ("z", "")]), Ok(()));
}

#[test]
fn a_length_is_one_decimal_number() {
    for good in ["0", "12", "18446744073709551615"] {
        assert_eq!(one(&[("content-length", good)]), Ok(()), "{good}");
    }
    for bad in ["", "+1", "-1", "1 2", "0x1", "1.0", "18446744073709551616", "é"] {
        assert_eq!(one(&[("content-length", bad)]), Err(Refusal::BadContentLength), "{bad}");
    }
    let several = Err(Refusal::SeveralContentLengths);
    for second in ["5", "6", "x"] {
        assert_eq!(
            one(&[("content-length", "5"), ("content-length", second)]),
            several,
            "{second}"
        );
    }
    for list in ["5, 5", "5, 6", "5,"] {
        assert_eq!(one(&[("content-length", list)]), several, "{list}");
    }
}

#[test]
fn a_body_is_framed_one_way_only() {
    let chunked = ("transfer-encoding", "chunked");
    assert_eq!(one(&[chunked]), Ok(()));
    assert_eq!(one(&[("transfer-encoding", "Chunked")]), Ok(()));
    assert_eq!(
        one(&[chunked, ("content-length", "5")]),
        Err(Refusal::LengthAndEncoding)
    );
    assert_eq!(
        check(&head(Version::HTTP_10, "/", &[chunked])),
        Err(Refusal::MisplacedEncoding)
    );
    assert_eq!(two("http://a/", &[chunked]), Err(Refusal::MisplacedEncoding));
    for bad in ["gzip", "chunked, gzip", "", "chunked;x", "identity", "xchunked"] {
        assert_eq!(one(&[("transfer-encoding", bad)]), Err(Refusal::UnframedBody), "{bad}");
    }
    assert_eq!(
        one(&[("transfer-encoding", "gzip, chunked")]),
        Err(Refusal::UnknownCoding)
    );
    assert_eq!(
        one(&[("transfer-encoding", "gzip"), chunked]),
        Err(Refusal::UnknownCoding)
    );
    assert_eq!(one(&[chunked, chunked]), Err(Refusal::UnknownCoding));
    assert_eq!(Refusal::UnknownCoding.status(), StatusCode::NOT_IMPLEMENTED);
    assert_eq!(Refusal::UnframedBody.status(), StatusCode::BAD_REQUEST);
}

/// What the guard relies on instead of looking itself.
#[test]
fn the_type_of_the_target_holds_no_control_character() {
    for byte in (0..=b' ').chain([0x7f, 0xff]) {
        for target in [[b'/', b'a', byte, b'b'], [b'/', b'?', byte, b'b']] {
            assert!(http::Uri::try_from(&target[..]).is_err(), "{byte:#x}");
        }
    }
}
