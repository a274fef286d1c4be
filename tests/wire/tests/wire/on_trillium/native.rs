//! What trillium tells of its own match.

use pointwork_core::Context;
use pointwork_trillium::{Trillium, TrilliumHandler};
use pointwork_wire_tests::{Probe, cases, published, route};
use trillium::{Conn, Handler};
use trillium_router::RouterConnExt;

cases! {
    own;
    a_match_is_told_in_trilliums_words,
}

/// Runs a handler, then tells what the router's own words on the connection say.
struct Told(TrilliumHandler);

impl Handler for Told {
    async fn run(&self, conn: Conn) -> Conn {
        let conn = self.0.run(conn).await;
        let told = format!("{:?} {:?} {:?}", conn.route(), conn.param("p1"), conn.wildcard());
        conn.with_response_header("x-told", told)
    }
}

async fn a_match_is_told_in_trilliums_words() {
    let routes = vec![route("GET", "/user/:id/*rest", async |_: Context| "found")];
    let trillium = published(Trillium::new(), routes);
    let address = super::mounting::serve(Told(trillium.handler())).await;
    let mut client = Probe::connect(address).await;
    let reply = client.get("/user/7/a/b").await;
    assert_eq!(reply.body, "found");
    assert_eq!(reply.all("x-told"), ["Some(\"/user/:p1/*\") Some(\"7\") Some(\"a/b\")"]);
}
