//! The application that Pointwork is mounted in: its routes, its state and its middleware.

use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest, HttpResponse, guard, web};
use pointwork::Extensions;

/// The state of the application.
#[derive(Default)]
pub(crate) struct Visits(AtomicUsize);

/// The routes of the application, and its answer to everything else.
pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/own", web::get().to(own))
        // Without the guard the resource would answer every other method of the path with 405.
        .service(web::resource("/hello/{name}").guard(guard::Post()).to(posted))
        .route(
            "/socket",
            web::get().guard(guard::Header("upgrade", "websocket")).to(echo),
        )
        .default_service(web::to(fallback));
}

async fn own(visits: web::Data<Visits>) -> String {
    format!("visit {}", visits.0.fetch_add(1, Ordering::Relaxed) + 1)
}

async fn posted(body: String) -> String {
    format!("posted {body}")
}

/// Sends back what the client sends. actix-web hands over the bytes behind a head only for `Upgrade: websocket`.
async fn echo(payload: web::Payload) -> HttpResponse {
    HttpResponse::SwitchingProtocols()
        .upgrade("websocket")
        .streaming(payload)
}

async fn fallback(request: HttpRequest) -> HttpResponse {
    HttpResponse::NotFound().body(format!("fallback {} {}", request.method(), request.path()))
}

/// A middleware around the application's own routes alone: it marks the replies of these routes.
pub(crate) async fn inner(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let mut reply = next.call(request).await?;
    reply
        .headers_mut()
        .insert(HeaderName::from_static("x-inner"), HeaderValue::from_static("yes"));
    Ok(reply)
}

/// A middleware around the whole application: it sets the user of a request, blocks some requests, and marks every reply.
pub(crate) async fn outer(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let known = Extensions::default();
    known.set("user", "ada");
    request.extensions_mut().insert(known);
    // Pointwork sets the parameters of a route right before the handler runs: a middleware does not see parameters.
    let seen = request.match_info().iter().count();
    let mut reply = if request.headers().contains_key("x-block") {
        request
            .into_response(HttpResponse::Forbidden().body("blocked"))
            .map_into_left_body()
    } else {
        next.call(request).await?.map_into_right_body()
    };
    let headers = reply.headers_mut();
    headers.insert(HeaderName::from_static("x-outer"), HeaderValue::from_static("actix"));
    headers.insert(HeaderName::from_static("x-params-before"), seen.into());
    Ok(reply)
}
