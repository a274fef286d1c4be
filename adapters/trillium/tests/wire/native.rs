//! What trillium matches by itself, and what its syntax cannot say.

use pointwork_core::Context;
use pointwork_trillium::{ServerOptions, Trillium};
use trillium::{Conn, Handler};
use trillium_router::RouterConnExt;

use crate::subject::{Subject, published, route};

#[tokio::test]
async fn patterns_that_mean_something_else_to_trillium_are_answered_all_the_same() {
    let paths = [
        "/a%2Fb",
        "/lit%3Aeral/x",
        "/%3Aname",
        "/%2Astar",
        "/dot.ted/:p",
        "/..hidden/:p",
        "/grün/:p",
        "/grün.x/:p/y",
        "/:a/b/:c/d/*rest",
        "/",
    ];
    let routes = paths.map(|path| route("GET", path, async |context: Context| context.path().to_owned()));
    let subject = Subject::with(ServerOptions::default(), routes.into()).await;
    let mut client = subject.client().await;
    for (target, found) in [
        ("/a%2Fb", true),
        ("/a%2fb", true),
        ("/a/b", false),
        ("/lit:eral/x", true),
        ("/:name", true),
        ("/name", false),
        ("/*star", true),
        ("/other", false),
        ("/dot.ted/7", true),
        ("/dotxted/7", false),
        ("/..hidden/7", true),
        ("/gr%C3%BCn/7", true),
        ("/gr%C3%BCn.x/7/y", true),
        ("/1/b/2/d/e/f/", true),
        ("/1/b/2/d/", false),
        ("/1/b2/d/e", false),
        ("//", false),
        ("/", true),
    ] {
        let reply = client.get(target).await;
        assert_eq!(reply.status() == 200, found, "{target}: {reply:?}");
    }
}

/// Runs a handler, then tells what the router's own words on the connection say.
struct Told(pointwork_trillium::TrilliumHandler);

impl Handler for Told {
    async fn run(&self, conn: Conn) -> Conn {
        let conn = self.0.run(conn).await;
        let told = format!("{:?} {:?} {:?}", conn.route(), conn.param("p1"), conn.wildcard());
        conn.with_response_header("x-told", told)
    }
}

#[tokio::test]
async fn a_match_is_told_in_trilliums_words() {
    let routes = vec![route("GET", "/user/:id/*rest", async |_: Context| "found")];
    let trillium: Trillium = published(ServerOptions::default(), routes);
    let address = crate::mounting::serve(Told(trillium.handler())).await;
    let mut client = crate::client::Client::connect(address).await;
    let reply = client.get("/user/7/a/b").await;
    assert_eq!(reply.body, "found");
    assert_eq!(reply.all("x-told"), ["Some(\"/user/:p1/*\") Some(\"7\") Some(\"a/b\")"]);
}
