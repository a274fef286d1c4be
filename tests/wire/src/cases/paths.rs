//! The route that answers each path, regardless of the framework's own router.

use pointwork_core::{Context, Route, ServerOptions};

use crate::{On, Server, route};

crate::cases! {
    a_literal_beats_a_parameter_in_any_order: P6,
    paths_are_matched_as_the_core_does: P6 A8,
    what_a_framework_would_match_and_the_core_does_not_is_404: A8 P8,
    patterns_that_a_framework_cannot_write_are_routes_too: P4 P8,
    patterns_that_a_framework_cannot_hold_side_by_side_are_all_served: P6 A8,
    a_table_may_have_many_routes: P6 A8,
}

/// A route that replies with its pattern and its parameters.
fn named(method: &str, path: &str) -> Route {
    let name = path.to_owned();
    route(method, path, move |context: Context| {
        let params = context.params().iter().map(|(key, value)| format!(" {key}={value}"));
        let answer = format!("{name}{}", params.collect::<String>());
        async move { answer }
    })
}

async fn server(on: On, routes: &[(&str, &str)]) -> Server {
    let routes = routes.iter().map(|(method, path)| named(method, path)).collect();
    Server::with(on, ServerOptions::new(), routes).await
}

/// Requests each target in turn, and compares the body.
async fn assert_answers(server: &Server, asked: &[(&str, &str, &str)]) {
    let mut client = server.client().await;
    for (method, target, answer) in asked {
        let reply = client.ask(method, target).await;
        assert_eq!(
            (reply.status(), reply.body.as_str()),
            (200, *answer),
            "{method} {target}"
        );
    }
}

async fn a_literal_beats_a_parameter_in_any_order(on: On) {
    let server = server(
        on,
        &[
            ("GET", "/*rest"),
            ("GET", "/:id"),
            ("GET", "/search"),
            ("POST", "/search"),
            ("PUT", "/:id"),
        ],
    )
    .await;
    let asked = [
        ("GET", "/search", "/search"),
        ("GET", "/other", "/:id id=other"),
        ("GET", "/a/b", "/*rest rest=a/b"),
        ("POST", "/search", "/search"),
        ("PUT", "/search", "/:id id=search"),
        ("GET", "/s%65arch", "/search"),
        ("GET", "/a%2Fb", "/:id id=a/b"),
        ("GET", "/a+b", "/:id id=a+b"),
        ("GET", "/a%2Bb", "/:id id=a+b"),
    ];
    assert_answers(&server, &asked).await;
}

/// Paths of every kind, one of each kind.
const TABLE: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/a"),
    ("GET", "/a/:x"),
    ("GET", "/a/:x/b/:y"),
    ("GET", "/a/literal"),
    ("LOCK", "/a/:x"),
    ("MERGE", "/a/literal"),
    ("ALL", "/all/*rest"),
    ("GET", "/all/:one"),
    ("GET", "/caf%C3%A9/:x"),
    ("GET", "/sl%2Fash"),
    ("GET", "/%20blank"),
    ("PROPFIND", "/dav/*path"),
    ("GET", "/dav/:file"),
];

async fn paths_are_matched_as_the_core_does(on: On) {
    let server = server(on, TABLE).await;
    let asked = [
        ("GET", "/", "/"),
        ("GET", "/a", "/a"),
        ("GET", "/a/1", "/a/:x x=1"),
        ("GET", "/a/literal", "/a/literal"),
        ("GET", "/a/liter%61l", "/a/literal"),
        ("GET", "/%61/1", "/a/:x x=1"),
        ("GET", "/a/x%2Fy", "/a/:x x=x/y"),
        ("GET", "/a/x%2Fy/b/%25", "/a/:x/b/:y x=x/y y=%"),
        ("GET", "/caf%c3%a9/1", "/caf%C3%A9/:x x=1"),
        ("GET", "/all/x", "/all/:one one=x"),
        ("GET", "/all/x/y//z/", "/all/*rest rest=x/y//z/"),
        ("GET", "http://a/a/1", "/a/:x x=1"),
        ("LOCK", "/a/1", "/a/:x x=1"),
        // If the most specific path lacks the method, a less specific one may have it.
        ("LOCK", "/a/literal", "/a/:x x=literal"),
        ("MERGE", "/a/literal", "/a/literal"),
        ("REPORT", "/all/x", "/all/*rest rest=x"),
        ("PROPFIND", "/dav/a/b", "/dav/*path path=a/b"),
        ("PROPFIND", "/dav/a", "/dav/*path path=a"),
        ("GET", "/dav/a", "/dav/:file file=a"),
    ];
    assert_answers(&server, &asked).await;
}

async fn what_a_framework_would_match_and_the_core_does_not_is_404(on: On) {
    let server = server(on, TABLE).await;
    let mut client = server.client().await;
    for target in [
        "/a/", "//a", "/a//1", "/a/1/", "/ab", "/a/1/b/", "/all", "/all/", "/sl/ash", "/blank", "/x//", "//",
    ] {
        assert_eq!(client.get(target).await.status(), 404, "{target}");
    }
    for target in ["/a/%", "/a/%zz", "/a/%ff", "/nowhere/%f"] {
        assert_eq!(client.get(target).await.status(), 400, "{target}");
    }
}

async fn patterns_that_a_framework_cannot_write_are_routes_too(on: On) {
    let many: String = (0..20).map(|number| format!("/:p{number}")).collect();
    let all: String = (0..20).map(|number| format!(" p{number}=x")).collect();
    let server = server(
        on,
        &[
            ("GET", "/a%7Bb%7D"),
            ("GET", "/c%2A"),
            ("GET", "/d%2Fe"),
            ("GET", "/caf%C3%A9"),
            ("GET", "/{brace}/:x"),
            ("GET", "/{a|b}"),
            ("GET", "/<x>"),
            ("GET", "/%20blank"),
            ("GET", "/{{"),
            ("GET", "/lit%3Aeral/x"),
            ("GET", "/%3Aname"),
            ("GET", "/%2Astar"),
            ("GET", "/dot.ted/:p"),
            ("GET", "/..hidden/:p"),
            ("GET", "/grün/:p"),
            ("GET", "/grün.x/:p/y"),
            ("GET", "/many/:a/b/:c/d/*rest"),
            ("GET", &many),
        ],
    )
    .await;
    let asked = [
        ("GET", "/a%7Bb%7D", "/a%7Bb%7D"),
        ("GET", "/a{b}", "/a%7Bb%7D"),
        ("GET", "/c*", "/c%2A"),
        ("GET", "/d%2fe", "/d%2Fe"),
        ("GET", "/d%2Fe", "/d%2Fe"),
        ("GET", "/caf%c3%a9", "/caf%C3%A9"),
        ("GET", "/%7Bbrace%7D/1", "/{brace}/:x x=1"),
        ("GET", "/%7Ba%7Cb%7D", "/{a|b}"),
        ("GET", "/%3Cx%3E", "/<x>"),
        ("GET", "/%20blank", "/%20blank"),
        ("GET", "/%7B%7B", "/{{"),
        ("GET", "/lit:eral/x", "/lit%3Aeral/x"),
        ("GET", "/:name", "/%3Aname"),
        ("GET", "/*star", "/%2Astar"),
        ("GET", "/dot.ted/7", "/dot.ted/:p p=7"),
        ("GET", "/..hidden/7", "/..hidden/:p p=7"),
        ("GET", "/gr%C3%BCn/7", "/grün/:p p=7"),
        ("GET", "/gr%C3%BCn.x/7/y", "/grün.x/:p/y p=7"),
        ("GET", "/many/1/b/2/d/e/f/", "/many/:a/b/:c/d/*rest a=1 c=2 rest=e/f/"),
        ("GET", &"/x".repeat(20), &format!("{many}{all}")),
    ];
    assert_answers(&server, &asked).await;
    let mut client = server.client().await;
    for target in [
        "/d/e",
        "/name",
        "/star",
        "/other",
        "/dotxted/7",
        "/many/1/b/2/d/",
        "/many/1/b2/d/e",
        "//",
    ] {
        assert_eq!(client.get(target).await.status(), 404, "{target}");
    }
}

async fn patterns_that_a_framework_cannot_hold_side_by_side_are_all_served(on: On) {
    let server = server(
        on,
        &[
            ("GET", "/x/:a"),
            ("GET", "/x/*rest"),
            ("GET", "/x/a{b}"),
            ("GET", "/x/%7Ba"),
            ("GET", "/:a/y"),
            ("GET", "/*rest"),
            ("GET", "/x/%2Fz"),
        ],
    )
    .await;
    let asked = [
        ("GET", "/x/1", "/x/:a a=1"),
        ("GET", "/x/1/2", "/x/*rest rest=1/2"),
        ("GET", "/x/a%7Bb%7D", "/x/a{b}"),
        ("GET", "/x/%7Ba", "/x/%7Ba"),
        ("GET", "/z/y", "/:a/y a=z"),
        ("GET", "/z/z/z", "/*rest rest=z/z/z"),
        ("GET", "/x/%2Fz", "/x/%2Fz"),
    ];
    assert_answers(&server, &asked).await;
}

async fn a_table_may_have_many_routes(on: On) {
    let names: Vec<String> = (0..300).map(|number| format!("/r{number}/:id")).collect();
    let routes = names.iter().map(|name| named("GET", name)).collect();
    let server = Server::with(on, ServerOptions::new(), routes).await;
    let mut client = server.client().await;
    for number in [0, 150, 299] {
        let reply = client.get(&format!("/r{number}/x")).await;
        assert_eq!(reply.body, format!("/r{number}/:id id=x"));
    }
}
