//! The application that a user of each framework has already, with the adapter mounted in it.
//!
//! All five have the same routes of their own, the same fallback and the same middleware, each in the way of its framework:
//!
//! | request | reply |
//! |---|---|
//! | `POST /users/{name}`, and all that no other takes | all that the user's handler sees, see [`seen`] |
//! | `POST /unread` | `unread`, without a read of the body |
//! | `GET /socket` | 101, and the connection sends back what it gets |
//! | `GET /api/before` | `before`; it stands before a mount below a prefix |
//! | `GET /api/behind` | `behind`; it stands behind that mount |
//!
//! Middleware around everything marks replies with `x-outer`, and gives requests a `user` for the core. Middleware around the
//! user's own handlers alone, those before a mount aside, marks replies with `x-inner`.

mod actix;
mod axum;
mod hyper;
mod salvo;
mod trillium;

use std::fmt::Debug;
use std::net::SocketAddr;

use ::hyper::upgrade::OnUpgrade;
use ::hyper_util::rt::TokioIo;
use http::HeaderValue;
use pointwork_core::Extensions;
use tokio::io::{copy, split};

use crate::{Adapter, Probe, Reply};

/// An application of a user's, with the mounts that a case needs.
#[derive(Clone)]
pub(crate) struct Application<A> {
    /// In front of everything that is the user's, the outermost first. The frameworks' applications take two at most.
    pub(crate) in_front: Vec<A>,
    /// Below the prefix of its connection.
    pub(crate) below: Option<A>,
    /// Whether the user has a fallback. axum takes one alone, and without a prefix it is the adapter's.
    pub(crate) has_fallback: bool,
    /// The limit for bodies of a middleware around everything.
    pub(crate) body_limit: Option<usize>,
}

/// An adapter whose framework's users have such an application.
pub(crate) trait Mounted: Adapter + Clone + Default {
    /// Serves the application on a server of the user's.
    async fn serve_own(application: Application<Self>) -> SocketAddr;
}

/// An application that is served.
pub(crate) struct User(SocketAddr);

impl<A: Mounted> Application<A> {
    /// The user's own application, without a mount.
    pub(crate) fn plain() -> Self {
        Self {
            in_front: Vec::new(),
            below: None,
            has_fallback: true,
            body_limit: None,
        }
    }

    pub(crate) fn in_front<const N: usize>(adapters: [&A; N]) -> Self {
        let in_front = adapters.map(Clone::clone).into();
        Self {
            in_front,
            ..Self::plain()
        }
    }

    pub(crate) fn below(adapter: &A) -> Self {
        Self {
            below: Some(adapter.clone()),
            ..Self::plain()
        }
    }

    /// The adapter answers everything.
    pub(crate) fn below_no_prefix(adapter: &A) -> Self {
        Self {
            has_fallback: false,
            ..Self::below(adapter)
        }
    }

    pub(crate) fn limited(self, bytes: usize) -> Self {
        Self {
            body_limit: Some(bytes),
            ..self
        }
    }

    pub(crate) async fn serve(self) -> User {
        User(A::serve_own(self).await)
    }
}

impl User {
    pub(crate) async fn client(&self) -> Probe {
        Probe::connect(self.0).await
    }

    pub(crate) async fn ask(&self, method: &str, target: &str) -> Reply {
        self.client().await.ask(method, target).await
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.ask("GET", target).await
    }

    /// The reply to a request on a connection of its own: a request line, and what follows `Host`.
    pub(crate) async fn send(&self, line: &str, rest: &str) -> Reply {
        let mut client = self.client().await;
        client.send(format!("{line} HTTP/1.1\r\nhost: a\r\n{rest}")).await;
        client.reply().await
    }

    /// The status and the text of the reply to a request with the body `body`.
    pub(crate) async fn text(&self, line: &str) -> (u16, String) {
        let reply = self.send(line, "content-length: 4\r\n\r\nbody").await;
        (reply.status(), reply.body)
    }
}

/// What a handler of the user's replies: all that it sees of a request. `matched` is all that its framework tells besides.
fn seen<T: Debug>(
    line: (impl ToString, impl ToString),
    headers: impl IntoIterator<Item = T>,
    user: Option<&Extensions>,
    matched: impl Debug,
    body: impl AsRef<[u8]>,
) -> String {
    let (method, target) = (line.0.to_string(), line.1.to_string());
    // Some frameworks keep headers in hash maps.
    let mut headers: Vec<_> = headers.into_iter().map(|header| format!("{header:?}")).collect();
    headers.sort_unstable();
    let user = user.and_then(|known| known.get("user")).unwrap_or_default();
    let body = String::from_utf8_lossy(body.as_ref()).into_owned();
    format!("own {method} {target} {body:?} {user} {matched:?} {headers:?}")
}

/// The value for the core that middleware puts into a request.
fn ada() -> Extensions {
    let user = Extensions::default();
    user.set("user", "ada");
    user
}

fn with_ada<B>(mut request: http::Request<B>) -> http::Request<B> {
    request.extensions_mut().insert(ada());
    request
}

fn marked<B>(mut reply: http::Response<B>, name: &'static str) -> http::Response<B> {
    reply.headers_mut().append(name, HeaderValue::from_static("yes"));
    reply
}

/// Sends back what comes on a connection of hyper's, once it is upgraded.
fn echo(extensions: &mut http::Extensions) {
    let upgrade = extensions.remove::<OnUpgrade>().expect("a connection to upgrade");
    tokio::spawn(async move {
        let (mut reader, mut writer) = split(TokioIo::new(upgrade.await.expect("an upgrade")));
        let _ = copy(&mut reader, &mut writer).await;
    });
}
