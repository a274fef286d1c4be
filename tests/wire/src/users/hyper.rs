//! A tower service, on hyper's own connections.

use bytes::Bytes;
use futures_util::future::{Either, ready};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use pointwork_hyper::{Hyper, HyperLayer};
use std::convert::Infallible;
use std::error::Error;
use tower::util::{BoxCloneSyncService, ServiceExt};
use tower::{Layer as _, service_fn};

use super::{Application, Mounted, User, echo, listen, marked, seen, with_ada};

type Boxed = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;
type Own = BoxCloneSyncService<Request<Boxed>, Response<Boxed>, Infallible>;

fn boxed<B>(reply: Response<B>) -> Response<Boxed>
where
    B: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    reply.map(|body| body.map_err(Into::into).boxed_unsync())
}

fn reply(text: impl Into<Bytes>) -> Response<Boxed> {
    boxed(Response::new(Full::from(text.into())))
}

async fn own(mut request: Request<Boxed>) -> Result<Response<Boxed>, Infallible> {
    Ok(match (request.method().clone(), request.uri().path()) {
        (Method::POST, "/unread") => reply("unread"),
        (Method::GET, "/api/behind") => reply("behind"),
        (Method::GET, "/socket") => {
            echo(request.extensions_mut());
            let mut reply = reply("");
            *reply.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
            reply.headers_mut().insert("upgrade", "websocket".parse().unwrap());
            reply
        }
        _ => {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            reply(seen(
                (head.method, head.uri),
                &head.headers,
                head.extensions.get(),
                head.extensions.len(),
                body,
            ))
        }
    })
}

fn mounted(layer: &HyperLayer, own: Own) -> Own {
    Own::new(layer.layer(own).map_response(boxed))
}

impl Mounted for Hyper {
    async fn serve_own(application: Application<Self>) -> User {
        let mut service = Own::new(service_fn(own).map_response(|reply| marked(reply, "x-inner")));
        match &application.below {
            Some(hyper) if application.answers_all => {
                service = Own::new(ServiceExt::<Request<Boxed>>::map_response(hyper.service(), boxed));
            }
            Some(hyper) => service = mounted(&hyper.below(), service),
            None => {}
        }
        for hyper in application.in_front.iter().rev() {
            service = mounted(&hyper.in_front(), service);
        }
        let before = service_fn(move |request: Request<Boxed>| match request.uri().path() {
            "/api/before" => Either::Left(ready(Ok(reply("before")))),
            _ => Either::Right(service.clone().oneshot(request)),
        });
        let limit = application.body_limit.unwrap_or(usize::MAX);
        let limited =
            move |request: Request<Incoming>| with_ada(request.map(|body| Limited::new(body, limit).boxed_unsync()));
        let service = before
            .map_request(limited)
            .map_response(|reply| marked(reply, "x-outer"));
        let (listener, user) = listen().await;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let http = hyper::server::conn::http1::Builder::new();
                let service = TowerToHyperService::new(service.clone());
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
            }
        });
        user
    }
}
