//! An application of actix-web's, with its services and middleware.

use actix_web::dev::{Payload, Service as _, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Condition;
use actix_web::{App, HttpMessage as _, HttpRequest, HttpResponse, HttpServer, web};
use futures_util::StreamExt as _;
use pointwork_actix::Actix;
use pointwork_core::Extensions;

use super::{Application, Mounted, User, ada, seen};

async fn see(request: HttpRequest, body: web::Bytes) -> String {
    let extensions = request.extensions();
    let params: Vec<_> = request.match_info().iter().collect();
    let matched = (request.match_pattern(), params);
    let line = (request.method(), request.uri());
    seen(line, request.headers(), extensions.get::<Extensions>(), matched, body)
}

async fn upgrade(payload: web::Payload) -> HttpResponse {
    HttpResponse::SwitchingProtocols()
        .upgrade("websocket")
        .streaming(payload)
}

/// The user's own services, all but the one before a mount.
fn own(config: &mut web::ServiceConfig) {
    config
        .route("/users/{name}", web::post().to(see))
        .route("/unread", web::post().to(async || "unread"))
        .route("/socket", web::get().to(upgrade))
        .route("/api/behind", web::get().to(async || "behind"))
        .default_service(web::to(see));
}

fn marked<B>(mut reply: ServiceResponse<B>, name: &'static str) -> ServiceResponse<B> {
    let value = HeaderValue::from_static("yes");
    reply.headers_mut().append(HeaderName::from_static(name), value);
    reply
}

/// A body with a limit.
fn limited(payload: Payload, limit: usize) -> Payload {
    let mut length = 0;
    let chunks = payload.map(move |chunk| {
        let chunk = chunk?;
        length += chunk.len();
        if length > limit {
            Err(PayloadError::Overflow)
        } else {
            Ok(chunk)
        }
    });
    Payload::from(chunks.boxed_local())
}

impl Mounted for Actix {
    async fn serve_own(application: Application<Self>) -> User {
        let server = HttpServer::new(move || {
            let Application {
                in_front,
                below,
                body_limit,
                ..
            } = application.clone();
            let in_front = |place: usize| {
                let mounted = in_front.get(place).cloned();
                Condition::new(mounted.is_some(), mounted.unwrap_or_default().in_front())
            };
            let inner = web::scope("").configure(own).wrap_fn(|request, next| {
                let reply = next.call(request);
                async move { reply.await.map(|reply| marked(reply, "x-inner")) }
            });
            App::new()
                .route("/api/before", web::get().to(async || "before"))
                .configure(|config| {
                    if let Some(below) = &below {
                        config.service(below.service());
                    }
                })
                .service(inner)
                .wrap(in_front(1))
                .wrap(in_front(0))
                .wrap_fn(move |mut request, next| {
                    assert!(request.match_info().is_empty(), "the parameters are not known yet");
                    request.extensions_mut().insert(ada());
                    if let Some(limit) = body_limit {
                        let payload = request.take_payload();
                        request.set_payload(limited(payload, limit));
                    }
                    let reply = next.call(request);
                    async move { reply.await.map(|reply| marked(reply, "x-outer")) }
                })
        });
        // Otherwise actix-web notices at the next write alone that a client is gone.
        let server = server.h1_allow_half_closed(false);
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let user = User(server.addrs()[0]);
        tokio::spawn(server.run());
        user
    }
}
