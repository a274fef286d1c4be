//! A router of axum's, with layers.

use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request};
use axum::routing::{get, post};
use http::StatusCode;
use http_body_util::{BodyExt as _, Limited};
use pointwork_axum::Axum;
use tower::util::{MapRequestLayer, MapResponseLayer};

use super::{Application, Mounted, User, echo, listen, marked, seen, with_ada};

async fn see(params: Result<RawPathParams, RawPathParamsRejection>, request: Request) -> String {
    let (head, body) = request.into_parts();
    let params = params.map(|params| format!("{:?}", params.iter().collect::<Vec<_>>()));
    let matched = (
        head.extensions.get::<MatchedPath>(),
        params.unwrap_or_default(),
        head.extensions.len(),
    );
    let body = body.collect().await.unwrap().to_bytes();
    seen(
        (head.method, head.uri),
        &head.headers,
        head.extensions.get(),
        matched,
        body,
    )
}

impl Mounted for Axum {
    async fn serve_own(application: Application<Self>) -> User {
        let upgrade = async |mut request: Request| {
            echo(request.extensions_mut());
            (StatusCode::SWITCHING_PROTOCOLS, [("upgrade", "websocket")])
        };
        let mut router = axum::Router::new()
            .route("/users/{name}", post(see))
            .route("/unread", post(async || "unread"))
            .route("/socket", get(upgrade))
            .route("/api/before", get(async || "before"))
            .route("/api/behind", get(async || "behind"))
            .method_not_allowed_fallback(see);
        if !application.answers_all {
            router = router.fallback(see);
        }
        router = router.layer(MapResponseLayer::new(|reply| marked(reply, "x-inner")));
        if let Some(below) = application.below {
            router = router.merge(below.router().unwrap());
        }
        for axum in application.in_front.iter().rev() {
            router = axum.in_front_of(router);
        }
        router = router
            .layer(MapRequestLayer::new(with_ada))
            .layer(MapResponseLayer::new(|reply| marked(reply, "x-outer")));
        if let Some(limit) = application.body_limit {
            let limited = move |request: Request| request.map(|body| Body::new(Limited::new(body, limit)));
            router = router.layer(MapRequestLayer::new(limited));
        }
        let (listener, user) = listen().await;
        tokio::spawn(axum::serve(listener, router).into_future());
        user
    }
}
