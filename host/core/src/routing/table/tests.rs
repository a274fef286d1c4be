use super::*;

/// Reads routes written as `GET /a/:b`, owned by modules `m0`, `m1`, and so on.
fn compile(routes: &[&str], options: TableOptions) -> Result<Table<()>, Conflicts> {
    let entries = routes.iter().enumerate().map(|(index, route)| {
        let (method, path) = route.split_once(' ').unwrap();
        RouteEntry {
            filter: MethodFilter::parse((method != "ALL").then_some(method)).unwrap(),
            pattern: Pattern::parse(path).unwrap(),
            owner: Owner::module(format!("m{index}"), "c", "h"),
            target: (),
        }
    });
    Table::compile(entries.collect(), options)
}

fn table(routes: &[&str]) -> Table<()> {
    compile(routes, TableOptions::default()).unwrap_or_else(|conflicts| panic!("{conflicts}"))
}

/// The answer in one line. Each hint must give the same.
fn ask(table: &Table<()>, method: &str, target: &str) -> String {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let uri = Uri::try_from(target).unwrap();
    let answer = line(&table.resolve(None, &method, &uri));
    for hint in 0..=table.shapes().len() {
        assert_eq!(
            line(&table.resolve(Some(ShapeId(hint as u32)), &method, &uri)),
            answer,
            "hint {hint}"
        );
    }
    answer
}

fn line(resolution: &Resolution<'_, ()>) -> String {
    match resolution {
        Resolution::Matched {
            entry,
            params,
            head_of_get,
            ..
        } => {
            let head = if *head_of_get { " for HEAD" } else { "" };
            let params: String = params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{} {}{head}{params}", entry.filter, entry.pattern)
        }
        Resolution::NotFound => "404".to_owned(),
        Resolution::MethodNotAllowed { allow } => format!("405 {}", allow.to_str().unwrap()),
        Resolution::Options { allow } => format!("204 {}", allow.to_str().unwrap()),
        Resolution::BadRequest(bad) => format!("400 {bad:?}"),
    }
}

#[test]
fn literal_beats_parameter_beats_rest_in_any_order_of_declaration() {
    let mut routes = ["GET /a/b", "GET /a/:x", "GET /a/*y"];
    for _ in 0..2 {
        let table = table(&routes);
        assert_eq!(ask(&table, "GET", "/a/b"), "GET /a/b");
        assert_eq!(ask(&table, "GET", "/a/c"), "GET /a/:x x=c");
        assert_eq!(ask(&table, "GET", "/a/b/c"), "GET /a/*y y=b/c");
        assert_eq!(ask(&table, "GET", "/a"), "404");
        routes.reverse();
    }
}

#[test]
fn a_dead_end_goes_back_to_the_next_best() {
    let table = table(&["GET /a/b/c", "GET /a/:x/d", "GET /:x/b/e", "GET /*all"]);
    assert_eq!(ask(&table, "GET", "/a/b/c"), "GET /a/b/c");
    assert_eq!(ask(&table, "GET", "/a/b/d"), "GET /a/:x/d x=b");
    assert_eq!(ask(&table, "GET", "/a/b/e"), "GET /:x/b/e x=a");
    assert_eq!(ask(&table, "GET", "/a/b/f"), "GET /*all all=a/b/f");
    assert_eq!(ask(&table, "GET", "/"), "404");
}

#[test]
fn the_root_is_a_path_like_any_other() {
    let table = table(&["GET /", "GET /:x"]);
    assert_eq!(ask(&table, "GET", "/"), "GET /");
    assert_eq!(ask(&table, "GET", "/?q=/a"), "GET /");
    assert_eq!(ask(&table, "GET", "http://host"), "GET /");
    assert_eq!(ask(&table, "GET", "//"), "404");
}

#[test]
fn values_are_decoded_once_after_the_split() {
    let table = table(&["GET /a/:x", "GET /f/*rest"]);
    assert_eq!(ask(&table, "GET", "/a/caf%C3%A9"), "GET /a/:x x=café");
    assert_eq!(ask(&table, "GET", "/a/x%2Fy"), "GET /a/:x x=x/y");
    assert_eq!(ask(&table, "GET", "/a/%2541"), "GET /a/:x x=%41");
    assert_eq!(ask(&table, "GET", "/a/b+c"), "GET /a/:x x=b+c");
    assert_eq!(ask(&table, "GET", "/a/%3Fq?p=%41"), "GET /a/:x x=?q");
    assert_eq!(ask(&table, "GET", "/a/x%2Fy/z"), "404");
    assert_eq!(ask(&table, "GET", "/a%2Fx"), "404");
    assert_eq!(ask(&table, "GET", "/f/a%2Fb/c%20d/"), "GET /f/*rest rest=a/b/c d/");
    assert_eq!(ask(&table, "GET", "/f/%2F"), "GET /f/*rest rest=/");
}

#[test]
fn a_literal_is_compared_decoded() {
    let table = table(&["GET /products", "GET /caf%C3%A9", "GET /a%2Fb"]);
    assert_eq!(ask(&table, "GET", "/%70roducts"), "GET /products");
    assert_eq!(ask(&table, "GET", "/caf%c3%a9"), "GET /caf%C3%A9");
    assert_eq!(ask(&table, "GET", "/a%2fb"), "GET /a%2Fb");
    assert_eq!(ask(&table, "GET", "/a/b"), "404");
    assert_eq!(ask(&table, "GET", "/Products"), "404");
}

#[test]
fn a_bad_escape_is_400_whatever_routes_there_are() {
    for table in [table(&[]), table(&["ALL /*all"]), table(&["GET /a"])] {
        for method in ["GET", "OPTIONS", "PURGE"] {
            assert_eq!(ask(&table, method, "/a/%zz"), "400 Escape(3)");
            assert_eq!(ask(&table, method, "/%41/b%2"), "400 Escape(6)");
            assert_eq!(ask(&table, method, "/nowhere/%ff"), "400 Utf8");
            assert_eq!(ask(&table, method, "/%C3/%A9"), "400 Utf8");
        }
        // Escapes in the query are the handler's.
        assert_ne!(ask(&table, "GET", "/a?%zz"), "400 Escape(3)");
    }
}

#[test]
fn a_target_that_is_no_path_is_400() {
    let table = table(&["ALL /", "ALL /*all"]);
    assert_eq!(ask(&table, "GET", "*"), "400 NotAPath");
    assert_eq!(ask(&table, "GET", "host.example"), "400 NotAPath");
    assert_eq!(ask(&table, "CONNECT", "host.example:443"), "ALL /");
    assert_eq!(ask(&table, "OPTIONS", "host.example:443"), "400 NotAPath");
}

#[test]
fn an_empty_segment_matches_nothing_but_a_rest() {
    let plain = table(&["GET /a/:x", "GET /a/:x/b", "GET /:x"]);
    for target in ["/a/", "/a//b", "//a", "//", "/a//", "/a/x/b/"] {
        assert_eq!(ask(&plain, "GET", target), "404", "{target}");
    }
    let rest = table(&["GET /a/*r", "GET /*r"]);
    assert_eq!(ask(&rest, "GET", "/a//"), "GET /a/*r r=/");
    assert_eq!(ask(&rest, "GET", "/a//b"), "GET /a/*r r=/b");
    assert_eq!(ask(&rest, "GET", "/a/b//c/"), "GET /a/*r r=b//c/");
    assert_eq!(ask(&rest, "GET", "/a/"), "GET /*r r=a/");
    assert_eq!(ask(&rest, "GET", "//"), "GET /*r r=/");
}

#[test]
fn dot_segments_are_ordinary() {
    let table = table(&["GET /a/:x/b", "GET /b"]);
    assert_eq!(ask(&table, "GET", "/a/../b"), "GET /a/:x/b x=..");
    assert_eq!(ask(&table, "GET", "/a/%2e/b"), "GET /a/:x/b x=.");
    assert_eq!(ask(&table, "GET", "/./b"), "404");
}

#[test]
fn a_trailing_slash_is_another_path_unless_switched() {
    let routes = ["GET /", "GET /a", "GET /a/:x", "GET /f/*r"];
    assert_eq!(ask(&table(&routes), "GET", "/a/"), "404");
    let table = compile(&routes, TableOptions::default().trailing_slash(TrailingSlash::Match)).unwrap();
    assert_eq!(ask(&table, "GET", "/"), "GET /");
    assert_eq!(ask(&table, "GET", "/a/"), "GET /a");
    assert_eq!(ask(&table, "GET", "/a/b/"), "GET /a/:x x=b");
    assert_eq!(ask(&table, "GET", "/%61/%62/"), "GET /a/:x x=b");
    assert_eq!(ask(&table, "GET", "/a/%2F/"), "GET /a/:x x=/");
    assert_eq!(ask(&table, "GET", "/a/b%2F"), "GET /a/:x x=b/");
    assert_eq!(ask(&table, "GET", "/f/b/"), "GET /f/*r r=b");
    assert_eq!(ask(&table, "GET", "/f/"), "404");
    for doubled in ["//", "/a//", "/%61//"] {
        assert_eq!(ask(&table, "GET", doubled), "404", "{doubled}");
    }
}

#[test]
fn a_shape_without_the_method_gives_way_to_a_less_specific_one() {
    let table = table(&["GET /a/b", "PUT /a/:x", "ALL /a/*r", "GET /c/d", "PUT /c/:x"]);
    assert_eq!(ask(&table, "GET", "/a/b"), "GET /a/b");
    assert_eq!(ask(&table, "PUT", "/a/b"), "PUT /a/:x x=b");
    assert_eq!(ask(&table, "PURGE", "/a/b"), "ALL /a/*r r=b");
    assert_eq!(ask(&table, "HEAD", "/a/b"), "GET /a/b for HEAD");
    assert_eq!(ask(&table, "OPTIONS", "/a/b"), "ALL /a/*r r=b");
    assert_eq!(ask(&table, "DELETE", "/c/d"), "405 GET, HEAD, OPTIONS, PUT");
    assert_eq!(ask(&table, "DELETE", "/c/e"), "405 OPTIONS, PUT");
    assert_eq!(ask(&table, "OPTIONS", "/c/d"), "204 GET, HEAD, OPTIONS, PUT");
    assert_eq!(ask(&table, "OPTIONS", "/nowhere"), "404");
}

#[test]
fn the_very_method_beats_all() {
    let table = table(&["ALL /a", "GET /a", "PURGE /a"]);
    assert_eq!(ask(&table, "GET", "/a"), "GET /a");
    assert_eq!(ask(&table, "PURGE", "/a"), "PURGE /a");
    for method in ["POST", "OPTIONS", "MKWORKSPACE", "get"] {
        assert_eq!(ask(&table, method, "/a"), "ALL /a");
    }
}

#[test]
fn head_is_answered_by_head_then_get_then_all() {
    assert_eq!(ask(&table(&["ALL /a", "GET /a", "HEAD /a"]), "HEAD", "/a"), "HEAD /a");
    assert_eq!(ask(&table(&["ALL /a", "GET /a"]), "HEAD", "/a"), "GET /a for HEAD");
    assert_eq!(ask(&table(&["ALL /a"]), "HEAD", "/a"), "ALL /a");
    assert_eq!(ask(&table(&["POST /a"]), "HEAD", "/a"), "405 OPTIONS, POST");
}

#[test]
fn options_is_answered_unless_declared() {
    assert_eq!(ask(&table(&["OPTIONS /a", "GET /a"]), "OPTIONS", "/a"), "OPTIONS /a");
    assert_eq!(
        ask(&table(&["GET /a", "PROPFIND /a"]), "OPTIONS", "/a"),
        "204 GET, HEAD, OPTIONS, PROPFIND"
    );
}

#[test]
fn options_of_the_server_lists_every_method() {
    assert_eq!(
        ask(&table(&["GET /a", "NOTIFY /b/:c"]), "OPTIONS", "*"),
        "204 GET, HEAD, NOTIFY, OPTIONS"
    );
    assert_eq!(ask(&table(&[]), "OPTIONS", "*"), "204 OPTIONS");
    assert!(ask(&table(&["ALL /a"]), "OPTIONS", "*").contains("PROPFIND, PROPPATCH, PURGE, PUT"));
}

#[test]
fn every_conflict_is_told_with_both_owners() {
    let conflicts = compile(
        &[
            "GET /users/:id",
            "GET /a",
            "ALL /a",
            "GET /users/:name",
            "PUT /users/:x",
            "ALL /%61",
            "GET /users/:again",
        ],
        TableOptions::default(),
    )
    .unwrap_err();
    assert_eq!(
        conflicts.to_string().lines().collect::<Vec<_>>(),
        [
            "route GET /users/:name of module `m3` conflicts with /users/:id of module `m0`",
            "route ALL /%61 of module `m5` conflicts with /a of module `m2`",
            "route GET /users/:again of module `m6` conflicts with /users/:id of module `m0`",
        ]
    );
    assert_eq!(conflicts.list().len(), 3);
}

#[test]
fn a_conflict_within_a_module_names_the_handlers() {
    let entry = |handler: &str, owner: Owner| RouteEntry {
        filter: MethodFilter::All,
        pattern: Pattern::parse("/a").unwrap(),
        owner,
        target: handler.to_owned(),
    };
    let of = |handler: &str| entry(handler, Owner::module("shop", "items", handler));
    let conflict = |entries| {
        Table::compile(entries, TableOptions::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        conflict(vec![of("one"), of("two")]),
        "route ALL /a of handler `two` of controller `items` of module `shop` conflicts with /a of handler `one` of \
         controller `items` of module `shop`"
    );
    assert_eq!(
        conflict(vec![entry("x", Owner::Manual), of("two")]),
        "route ALL /a of module `shop` conflicts with /a of the host application"
    );
}

#[test]
fn other_names_in_another_shape_are_no_conflict() {
    let table = table(&["GET /a/:x/b", "GET /a/:y/c"]);
    assert_eq!(ask(&table, "GET", "/a/1/b"), "GET /a/:x/b x=1");
    assert_eq!(ask(&table, "GET", "/a/1/c"), "GET /a/:y/c y=1");
}

#[test]
fn routes_of_one_shape_keep_their_own_names() {
    let table = table(&["GET /a/:x", "PUT /a/:y"]);
    assert_eq!(table.shapes().len(), 1);
    assert_eq!(ask(&table, "GET", "/a/1"), "GET /a/:x x=1");
    assert_eq!(ask(&table, "PUT", "/a/1"), "PUT /a/:y y=1");
}

#[test]
fn shapes_are_sorted_by_precedence_and_routes_by_declaration() {
    let routes = [
        "GET /*r",
        "GET /a/:x",
        "PUT /a/b",
        "GET /",
        "PUT /a/:y",
        "ALL /a/:z",
        "GET /a/b",
    ];
    let table = table(&routes);
    let shapes: Vec<_> = table.shapes().iter().map(|shape| shape.pattern().as_str()).collect();
    assert_eq!(shapes, ["/", "/a/b", "/a/:x", "/*r"]);
    for (index, shape) in table.shapes().iter().enumerate() {
        assert_eq!(shape.id().index(), index);
    }
    let listed: Vec<_> = table
        .routes()
        .iter()
        .map(|entry| format!("{} {}", entry.filter, entry.pattern))
        .collect();
    assert_eq!(listed, routes);
    assert_eq!(table.shapes()[2].routes(), [1, 4, 5]);
    assert_eq!(table.shapes()[1].routes(), [2, 6]);
}

#[test]
fn a_very_deep_pattern_does_not_exhaust_the_stack() {
    let table = table(&[&format!("GET {}", "/x".repeat(30_000))]);
    assert!(ask(&table, "GET", &"/x".repeat(30_000)).starts_with("GET /x/x"));
    assert_eq!(ask(&table, "GET", &"/x".repeat(29_999)), "404");
}

#[test]
fn params_outlive_request_and_table() {
    let params = {
        let table = table(&["GET /a/:x/*y"]);
        let uri = Uri::try_from("/a/1/2/3?q".to_owned()).unwrap();
        let Resolution::Matched { params, .. } = table.resolve(None, &Method::GET, &uri) else {
            panic!("no match")
        };
        params
    };
    assert_eq!(
        (params.get("x"), params.get("y"), params.get("z")),
        (Some("1"), Some("2/3"), None)
    );
    assert_eq!(
        (params.at(0), params.at(1), params.at(2)),
        (Some("1"), Some("2/3"), None)
    );
    assert_eq!((params.len(), params.is_empty()), (2, false));
    assert_eq!(format!("{params:?}"), r#"{"x": "1", "y": "2/3"}"#);
    assert_eq!(params.clone(), params);
    assert!(Params::default().is_empty());
    assert_eq!(Params::default().iter().count(), 0);
}
