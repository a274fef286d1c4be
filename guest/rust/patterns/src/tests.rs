use crate::{Pattern, PatternErrorKind, Segment};

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn prefix_and_path_are_joined_as_the_table_of_p5_says() {
    for (prefix, path, full) in [
        ("products", "", "/products"),
        ("products", ":id", "/products/:id"),
        ("products", "search", "/products/search"),
        ("", "", "/"),
        ("api/v1", "/health", "/api/v1/health"),
        ("/", "/health", "/health"),
    ] {
        assert_eq!(Pattern::join(prefix, path).unwrap().as_str(), full);
    }
}

#[test]
fn slashes_at_the_seam_may_be_there_or_not() {
    for prefix in ["a/b", "/a/b", "a/b/", "/a/b/"] {
        for path in ["c/:d", "/c/:d", "c/:d/", "/c/:d/"] {
            assert_eq!(
                Pattern::join(prefix, path).unwrap().as_str(),
                "/a/b/c/:d",
                "{prefix} {path}"
            );
        }
    }
    for root in ["", "/"] {
        assert_eq!(Pattern::join("/", root).unwrap().as_str(), "/");
        assert_eq!(Pattern::join("a", root).unwrap().as_str(), "/a");
    }
}

#[test]
fn segments_and_names_are_read() {
    let pattern = pattern("/a/:b/:_c-2/*d");
    assert_eq!(
        pattern.segments(),
        [
            Segment::Literal("a".into()),
            Segment::Param("b".into()),
            Segment::Param("_c-2".into()),
            Segment::Rest("d".into())
        ]
    );
    assert_eq!(
        pattern.param_names().iter().map(|name| &**name).collect::<Vec<_>>(),
        ["b", "_c-2", "d"]
    );
    assert_eq!(pattern.canonical(), "/a/:p1/:p2/*p3");
}

#[test]
fn a_literal_is_one_whether_it_is_escaped_or_not() {
    let plain = pattern("/café/a(b)");
    let escaped = pattern("/caf%c3%A9/%61%28b)");
    assert_eq!(plain, escaped);
    assert_eq!(plain.canonical(), escaped.canonical());
    assert_eq!(escaped.as_str(), "/caf%c3%A9/%61%28b)");
    assert_eq!(pattern("/a%2Fb").segments(), [Segment::Literal("a/b".into())]);
    assert_ne!(pattern("/a%2Fb").canonical(), pattern("/a/b").canonical());
}

#[test]
fn names_slashes_escapes_and_the_seam_make_no_difference_to_the_shape() {
    let canonical = |(prefix, path)| Pattern::join(prefix, path).unwrap().canonical().to_owned();
    for (one, other) in [
        (("a", ""), ("", "/a/")),
        (("/a/", "b"), ("", "a/b")),
        (("a/b", ""), ("a", "b")),
        (("", "%2f"), ("", "%2F")),
        (("", ":a/*b"), ("", ":c/*d")),
    ] {
        assert_eq!(canonical(one), canonical(other));
    }
    for (one, other) in [(":id", "*id"), ("a", "A"), ("%3Aid", ":id"), ("a/:x/b", "a/:y/c")] {
        assert_ne!(canonical(("", one)), canonical(("", other)));
    }
}

#[test]
fn dot_segments_are_ordinary() {
    assert_eq!(pattern("/../.").segments().len(), 2);
}

#[test]
fn canonical_parses_back_to_the_same_shape() {
    for text in [
        "/",
        "/a/:b/*c",
        "/a%2Fb/%3Ax/%2A/é",
        "/%25/~-._!$&'()+,;=@",
        "/{id}/[x]",
    ] {
        let pattern = pattern(text);
        let again = Pattern::parse(pattern.canonical()).unwrap();
        assert_eq!(again.canonical(), pattern.canonical());
        assert!(again.cmp_precedence(&pattern).is_eq());
    }
}

#[test]
fn an_error_tells_place_and_kind() {
    use PatternErrorKind as Kind;
    for (text, at, kind) in [
        ("//", 1, Kind::EmptySegment),
        ("/a//b", 3, Kind::EmptySegment),
        ("/a//", 3, Kind::EmptySegment),
        ("//a", 1, Kind::EmptySegment),
        ("a/:/b", 3, Kind::EmptyName),
        ("/*", 2, Kind::EmptyName),
        ("/:1a", 2, Kind::NameCharacter('1')),
        ("/:-a", 2, Kind::NameCharacter('-')),
        ("/:id.json", 4, Kind::NameCharacter('.')),
        ("/:a:b", 3, Kind::NameCharacter(':')),
        ("/:é", 2, Kind::NameCharacter('é')),
        ("/:id/x/:id", 8, Kind::DuplicateName("id".into())),
        ("/:id/*id", 6, Kind::DuplicateName("id".into())),
        ("/*a/b", 3, Kind::AfterRest("a".into())),
        ("/a:b", 2, Kind::MarkerInLiteral(':')),
        ("/a*", 2, Kind::MarkerInLiteral('*')),
        ("/a?b", 2, Kind::Character('?')),
        ("/a#b", 2, Kind::Character('#')),
        ("/a b", 2, Kind::Character(' ')),
        ("/a\u{a0}", 2, Kind::Character('\u{a0}')),
        ("/a\r\n", 2, Kind::Character('\r')),
        ("/\u{0}", 1, Kind::Character('\u{0}')),
        ("/é%2", 3, Kind::Escape),
        ("/a/x%ff", 3, Kind::Utf8),
    ] {
        let error = Pattern::parse(text).expect_err(text);
        assert_eq!((error.position(), error.kind()), (at, &kind), "{text}");
        assert_eq!(error.text(), text);
        assert!(!error.to_string().contains(char::is_control), "{error}");
    }
}

#[test]
fn an_error_of_a_join_quotes_the_part_at_fault() {
    let error = Pattern::join("/shops/:id", "/items/:id").unwrap_err();
    assert_eq!((error.text(), error.position()), ("/items/:id", 8));
    let error = Pattern::join("/sh ops", "x").unwrap_err();
    assert_eq!((error.text(), error.position()), ("/sh ops", 3));
    let error = Pattern::join("/*rest", "x").unwrap_err();
    assert_eq!((error.text(), error.position()), ("x", 0));
    assert!(Pattern::join("/*rest", "/").is_ok());
}

#[test]
fn a_prefix_goes_before_the_whole_path() {
    assert_eq!(pattern("/a/:b").prefixed("/api/").unwrap().as_str(), "/api/a/:b");
    assert_eq!(pattern("/").prefixed("api").unwrap().as_str(), "/api");
    assert_eq!(pattern("/a").prefixed("").unwrap().as_str(), "/a");
}

#[test]
fn precedence_is_literal_then_parameter_then_rest_from_left_to_right() {
    let sorted = [
        "/", "/a", "/a/b", "/a/b/:x", "/a/:x/c", "/a/:x/:y", "/a/:x/*y", "/a/*x", "/b", "/:x/b", "/:x/:y", "/*x",
    ];
    for (left, first) in sorted.iter().enumerate() {
        for (right, second) in sorted.iter().enumerate() {
            assert_eq!(
                pattern(first).cmp_precedence(&pattern(second)),
                left.cmp(&right),
                "{first} {second}"
            );
        }
    }
    assert!(pattern("/a/:x/*y").cmp_precedence(&pattern("/a/:id/*rest")).is_eq());
}
