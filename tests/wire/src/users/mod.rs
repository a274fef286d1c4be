//! The application that a user of each framework has already, with the adapter mounted in it.
//!
//! All five have the same routes of their own, the same fallback and the same middleware, each in the way of its framework:
//!
//! | request | reply |
//! |---|---|
//! | `POST /users/{name}`, and all that no other takes | all that the user's handler sees, see `seen` |
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
pub mod salvo;
pub mod trillium;

use std::fmt::Debug;
use std::net::SocketAddr;

use ::hyper::upgrade::OnUpgrade;
use ::hyper_util::rt::TokioIo;
use http::HeaderValue;
use pointwork_core::Extensions;
use tokio::io::{copy, split};
use tokio::net::TcpListener;

use crate::{Adapter, Probe, Reply};

/// An application of a user's, with the mounts that a case needs.
#[derive(Clone, Default)]
pub(crate) struct Application<A> {
    /// In front of everything that is the user's, the outermost first. The frameworks' applications take two at most.
    pub(crate) in_front: Vec<A>,
    /// Below the prefix of its connection.
    pub(crate) below: Option<A>,
    /// Whether that is no prefix, so that the user has no fallback.
    pub(crate) answers_all: bool,
    /// The limit for bodies of a middleware around everything.
    pub(crate) body_limit: Option<usize>,
}

impl<A: Mounted> Application<A> {
    pub(crate) fn in_front<const N: usize>(adapters: [&A; N]) -> Self {
        Self {
            in_front: adapters.map(A::clone).into(),
            ..Self::default()
        }
    }

    pub(crate) fn below(adapter: &A) -> Self {
        Self {
            below: Some(adapter.clone()),
            ..Self::default()
        }
    }

    pub(crate) async fn serve(self) -> User {
        A::serve_own(self).await
    }
}

/// An adapter whose framework's users have such an application.
pub(crate) trait Mounted: Adapter + Clone + Default {
    /// Serves the application on a server of the user's.
    async fn serve_own(application: Application<Self>) -> User;
}

/// An application that is served on a server of the user's.
#[derive(Debug)]
pub struct User(SocketAddr);

impl User {
    /// Opens a new connection.
    pub async fn client(&self) -> Probe {
        Probe::connect(self.0).await
    }

    /// The reply to a request without a body, on a connection of its own.
    pub async fn ask(&self, method: &str, target: &str) -> Reply {
        self.client().await.ask(method, target).await
    }

    /// The reply to a GET.
    pub async fn get(&self, target: &str) -> Reply {
        self.ask("GET", target).await
    }

    /// The reply to a request: its line without the version, and what follows `Host`.
    pub async fn send(&self, line: &str, rest: &str) -> Reply {
        self.exchange(format!("{line} HTTP/1.1\r\nhost: a\r\n{rest}")).await
    }

    /// The reply to these bytes, on a connection of its own.
    pub async fn exchange(&self, request: impl AsRef<[u8]>) -> Reply {
        let mut client = self.client().await;
        client.send(request).await;
        client.reply().await
    }

    /// Asserts that GET gets this status and this text for each target.
    ///
    /// # Panics
    /// If it does not.
    pub async fn assert_replies(&self, replies: &[(&str, u16, &str)]) {
        for (target, status, body) in replies {
            let reply = self.get(target).await;
            assert_eq!((reply.status(), reply.body.as_str()), (*status, *body), "{target}");
        }
    }
}

/// A listener on a free port.
async fn listen() -> (TcpListener, User) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let user = User(listener.local_addr().unwrap());
    (listener, user)
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
