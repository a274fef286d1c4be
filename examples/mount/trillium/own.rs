//! The application that Pointwork is mounted in: its handlers, its state and its server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::AsyncReadExt as _;
use futures_util::io::copy;
use pointwork::Extensions;
use trillium::{Conn, Handler, KnownHeaderName, State, Status, Upgrade};
use trillium_router::{Router, RouterConnExt as _};

/// The state of the application.
#[derive(Clone, Default)]
struct Visits(Arc<AtomicUsize>);

/// The application's own handlers: its middleware, its routes, and its answer to everything else.
pub(crate) fn handlers() -> impl Handler {
    // A router answers OPTIONS by itself, for every path, unless it is built so.
    let routes = Router::new()
        .without_options_handling()
        .get("/own", own)
        .post("/hello/:name", posted)
        .get("/socket", Echo);
    (State::new(Visits::default()), inner, routes, fallback)
}

async fn own(conn: Conn) -> Conn {
    let visits = conn
        .state::<Visits>()
        .map_or(0, |visits| visits.0.fetch_add(1, Ordering::Relaxed));
    conn.ok(format!("visit {}", visits + 1))
}

async fn posted(mut conn: Conn) -> Conn {
    match conn.request_body().read_string().await {
        Ok(body) => conn.ok(format!("posted {body}")),
        Err(error) => conn.with_status(Status::BadRequest).with_body(error.to_string()).halt(),
    }
}

async fn fallback(conn: Conn) -> Conn {
    let body = format!("fallback {} {}", conn.method(), conn.path());
    conn.with_status(Status::NotFound).with_body(body).halt()
}

/// A middleware around the application's own routes alone: it marks the replies of these routes. It must not use
/// `before_send`, which trillium calls for Pointwork's replies too.
async fn inner(conn: Conn) -> Conn {
    conn.with_response_header("x-inner", "yes")
}

/// Sends back what the client sends, once the connection has changed its protocol.
struct Echo;

impl Handler for Echo {
    async fn run(&self, conn: Conn) -> Conn {
        if !conn.request_headers().has_header(KnownHeaderName::Upgrade) {
            return conn;
        }
        conn.with_status(Status::SwitchingProtocols)
            .with_response_header(KnownHeaderName::Connection, "upgrade")
            .with_response_header(KnownHeaderName::Upgrade, "echo")
            .upgrade()
            .halt()
    }

    fn has_upgrade(&self, _: &Upgrade) -> bool {
        true
    }

    async fn upgrade(&self, upgrade: Upgrade) {
        let (reader, mut writer) = upgrade.split();
        // The other connections go on when a client breaks off.
        let _ = copy(reader, &mut writer).await;
    }
}

/// A middleware around the whole application: it sets the user of a request, blocks some requests, and marks every reply.
pub(crate) struct Outer;

impl Handler for Outer {
    async fn run(&self, conn: Conn) -> Conn {
        let known = Extensions::default();
        known.set("user", "ada");
        // Pointwork sets the parameters of a route right before the handler runs: a middleware does not see parameters.
        let seen = usize::from(conn.param("name").is_some() || conn.wildcard().is_some());
        let conn = conn
            .with_state(known)
            .with_response_header("x-params-before", seen.to_string());
        if conn.request_headers().has_header("x-block") {
            return conn.with_status(Status::Forbidden).with_body("blocked").halt();
        }
        conn
    }

    async fn before_send(&self, conn: Conn) -> Conn {
        conn.with_response_header("x-outer", "trillium")
    }
}

/// Serves every connection with the handler until Ctrl-C; requests in flight come to their end. For a service manager's
/// SIGTERM use `tokio::signal::unix`. trillium's own signals print a line, and never end a program whose output is closed.
#[allow(clippy::print_stdout, reason = "a program tells its user where it listens")]
pub(crate) async fn serve(handler: impl Handler) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let server = trillium_tokio::config()
        .without_signals()
        .with_prebound_server(listener)
        .spawn(handler);
    tokio::signal::ctrl_c().await?;
    server.shut_down().await;
    Ok(())
}
