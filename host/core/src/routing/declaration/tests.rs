use super::*;

fn route(name: &str, method: Option<&str>, paths: &[&str]) -> RouteDeclaration {
    RouteDeclaration {
        handler: 7,
        name: name.into(),
        method: method.map(str::to_owned),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    }
}

fn controller(name: &str, prefix: &str, routes: Vec<RouteDeclaration>) -> ControllerDeclaration {
    ControllerDeclaration {
        name: name.into(),
        prefix: prefix.into(),
        routes,
    }
}

fn kinds(controllers: &[ControllerDeclaration]) -> Vec<DeclarationErrorKind> {
    let errors = validate("shop", controllers).unwrap_err();
    errors.list().iter().map(|error| error.kind().clone()).collect()
}

#[test]
fn order_is_module_order_then_declaration_order() {
    let controllers = [
        controller(
            "z",
            "z",
            vec![route("b", Some("GET"), &["2", "1"]), route("a", None, &[])],
        ),
        controller("a", "/", vec![route("c", Some("PROPFIND"), &["/", "x"])]),
    ];
    let routes = validate("shop", &controllers).unwrap();
    let seen: Vec<_> = routes
        .iter()
        .map(|route| {
            format!(
                "{} {} {}.{}",
                route.filter, route.pattern, route.controller, route.handler_name
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            "GET /z/2 z.b",
            "GET /z/1 z.b",
            "ALL /z z.a",
            "PROPFIND / a.c",
            "PROPFIND /x a.c"
        ]
    );
    assert!(routes.iter().all(|route| route.handler == 7));
    assert_eq!(routes, validate("shop", &controllers).unwrap());
}

#[test]
fn an_empty_list_of_paths_is_the_prefix() {
    let routes = validate("shop", &[controller("a", "api/v1/", vec![route("b", None, &[])])]).unwrap();
    assert_eq!(routes[0].pattern.as_str(), "/api/v1");
    let routes = validate("shop", &[controller("a", "", vec![route("b", None, &[])])]).unwrap();
    assert_eq!(routes[0].pattern.as_str(), "/");
}

#[test]
fn a_module_without_routes_is_fine() {
    assert_eq!(validate("shop", &[]).unwrap(), []);
    assert_eq!(validate("shop", &[controller("a", "a", vec![])]).unwrap(), []);
}

#[test]
fn all_errors_are_told_at_once_with_their_place() {
    let errors = validate(
        "shop",
        &[
            controller(
                "items",
                "items",
                vec![route("show", Some("GET IT"), &[":id", "a//b"]), route("ok", None, &[])],
            ),
            controller("users", "us ers", vec![route("list", Some(""), &["x", ":"])]),
        ],
    )
    .unwrap_err();
    assert_eq!(
        errors.to_string().lines().map(str::to_owned).collect::<Vec<_>>(),
        [
            "handler `show` of controller `items` of module `shop`: method `GET IT` is not an HTTP token: ` ` at byte 3, \
             expected a letter, a digit or one of !#$%&'*+-.^_`|~",
            "handler `show` of controller `items` of module `shop`: path `a//b` is not a valid pattern: found an empty segment at \
             byte 2, expected text between the slashes",
            "controller `users` of module `shop`: path `us ers` is not a valid pattern: found ` ` at byte 2, expected it as `%20` \
             or not at all",
            "handler `list` of controller `users` of module `shop`: method is empty, expected an HTTP token such as `GET`",
            "handler `list` of controller `users` of module `shop`: path `:` is not a valid pattern: found no name at byte 1, \
             expected a letter or `_`",
        ]
    );
    let first = &errors.list()[0];
    assert_eq!(
        (first.module(), first.controller(), first.handler()),
        ("shop", Some("items"), Some("show"))
    );
}

#[test]
fn names_are_short_and_printable() {
    let long = "x".repeat(MAX_NAME_BYTES + 1);
    assert_eq!(
        kinds(&[
            controller("", "", vec![]),
            controller(&long, "", vec![]),
            controller("a\nb", "", vec![route("", None, &[])]),
            controller(
                "é",
                "",
                vec![route(&long[1..], None, &["1"]), route("m", Some(&long), &["2"])]
            ),
        ]),
        [
            DeclarationErrorKind::EmptyName,
            DeclarationErrorKind::NameTooLong {
                bytes: MAX_NAME_BYTES + 1
            },
            DeclarationErrorKind::NameCharacter {
                position: 1,
                found: '\n'
            },
            DeclarationErrorKind::EmptyName,
            DeclarationErrorKind::MethodTooLong { text: long.clone() },
        ]
    );
}

#[test]
fn a_path_is_limited() {
    let fits = "x".repeat(MAX_PATTERN_BYTES - 1);
    assert!(validate("shop", &[controller("a", "p", vec![route("b", None, &[&fits])])]).is_ok());
    let errors = kinds(&[controller("a", "pp", vec![route("b", None, &[&fits])])]);
    assert_eq!(
        errors,
        [DeclarationErrorKind::PatternTooLong {
            text: fits,
            bytes: MAX_PATTERN_BYTES + 1
        }]
    );
}

#[test]
fn the_number_of_routes_is_limited() {
    let paths: Vec<_> = (0..MAX_ROUTES).map(|number| number.to_string()).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let mut controllers = vec![controller("a", "", vec![route("b", None, &paths)])];
    assert_eq!(validate("shop", &controllers).unwrap().len(), MAX_ROUTES);
    controllers.push(controller("c", "", vec![route("d", None, &[])]));
    assert_eq!(
        kinds(&controllers),
        [DeclarationErrorKind::TooManyRoutes { count: MAX_ROUTES + 1 }]
    );
}

#[test]
fn the_text_of_all_paths_is_limited() {
    let long = "x/".repeat(2_000);
    let paths: Vec<_> = (0..300).map(|number| format!("{long}{number}")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let errors = kinds(&[controller("a", "", vec![route("b", None, &paths)])]);
    assert!(
        matches!(errors[..], [DeclarationErrorKind::TooMuchPatternText { bytes }] if bytes > MAX_TOTAL_PATTERN_BYTES)
    );
}

#[test]
fn an_error_stays_readable_whatever_a_module_sends() {
    let routes = (0..100)
        .map(|_| route("a\u{1b}[2J", Some("\r\n"), &["\u{202e}\n#"]))
        .collect();
    let text = validate("shop", &[controller("c", "", routes)])
        .unwrap_err()
        .to_string();
    assert_eq!(text.lines().count(), 21);
    assert!(text.ends_with("and 280 more"), "{text}");
    assert!(!text.contains(|character: char| character.is_control() && character != '\n'));
}
