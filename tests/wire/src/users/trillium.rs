//! Handlers of trillium's, one after the other.

use futures_util::AsyncReadExt as _;
use futures_util::io::copy;
use pointwork_core::Extensions;
use pointwork_trillium::Trillium;
use trillium::{Conn, Handler, Method, Upgrade};

use super::{Application, Mounted, User, ada, listen, seen};

async fn outer(conn: Conn) -> Conn {
    conn.with_state(ada()).with_response_header("x-outer", "yes")
}

async fn before(conn: Conn) -> Conn {
    match conn.path() {
        "/api/before" => conn.ok("before"),
        _ => conn,
    }
}

/// The user's own routes and fallback.
struct Own;

impl Handler for Own {
    async fn run(&self, conn: Conn) -> Conn {
        let mut conn = conn.with_response_header("x-inner", "yes");
        match (conn.method(), conn.path()) {
            (Method::Post, "/unread") => return conn.ok("unread"),
            (Method::Get, "/api/behind") => return conn.ok("behind"),
            (Method::Get, "/socket") => {
                let conn = conn.with_status(101).with_response_header("upgrade", "websocket");
                return conn.upgrade().halt();
            }
            _ => {}
        }
        let body = conn.request_body().read_string().await.unwrap();
        let line = (conn.method(), conn.path_and_query());
        let text = seen(line, conn.request_headers(), conn.state::<Extensions>(), (), body);
        conn.ok(text)
    }

    fn has_upgrade(&self, _: &Upgrade) -> bool {
        true
    }

    async fn upgrade(&self, upgrade: Upgrade) {
        let (reader, mut writer) = upgrade.split();
        let _ = copy(reader, &mut writer).await;
    }
}

/// Serves a handler on trillium's own server.
///
/// # Panics
/// If no port is free.
pub async fn serve(handler: impl Handler) -> User {
    let (listener, user) = listen().await;
    let server = trillium_tokio::config()
        .without_signals()
        .with_prebound_server(listener);
    tokio::spawn(server.run_async(handler));
    user
}

impl Mounted for Trillium {
    /// Without a limit for bodies: trillium's own is one of each read, which a handler cannot set for another.
    async fn serve_own(application: Application<Self>) -> User {
        let in_front: Vec<_> = application.in_front.iter().map(Self::in_front).collect();
        let below = application.below.as_ref().map(Self::handler);
        serve((outer, before, in_front, below, Own)).await
    }
}
