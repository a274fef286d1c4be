//! HTTP/2 in clear text, with prior knowledge: requests and replies.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pointwork_core::{Body, Context, Failure, Protocols, ServerOptions};
use tokio::sync::Barrier;

use super::exactness::hosts;
use crate::client::{Client, Http2};
use crate::{On, RouteGate, Server, route, routes, within};

crate::cases! {
    it_gives_the_answers_of_http_1: A5,
    requests_of_one_connection_run_beside_each_other: A5,
    head_has_the_length_and_no_body: A8,
    a_body_beyond_the_limit_gets_413: A5,
    a_body_that_stops_coming_gets_408: A5,
    too_many_headers_get_431: A5,
    the_end_of_a_request_is_not_the_clients: A5,
    a_method_of_every_frameworks_list_is_a_real_route: A5,
    a_method_of_no_frameworks_list_is_a_real_route: A5,
    a_handler_knows_its_client: A5 H9,
    a_handler_sees_the_authority_as_the_host: A5 H9,
}

/// Options that allow only HTTP/2.
pub(super) fn options() -> ServerOptions {
    ServerOptions::new().protocols(Protocols::Http2)
}

/// An HTTP/2 client whose failures are panics.
pub(super) struct Http2Probe(Http2);

impl Http2Probe {
    pub(super) async fn connect(server: &Server) -> Self {
        Self(Client::new(server.address).connect_http2().await.unwrap())
    }

    /// Sends a request; the future does not borrow the probe.
    pub(super) fn begin(
        &self,
        method: &str,
        path: &str,
        body: Body,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + Send + use<> {
        let request = Request::builder().method(method).uri(format!("http://a{path}"));
        self.0.begin(request.body(body).unwrap())
    }

    /// Sends a request and returns the head of its reply.
    pub(super) async fn send(&self, method: &str, path: &str, body: Body) -> hyper::Result<Response<Incoming>> {
        within("the reply", self.begin(method, path, body)).await
    }

    /// Sends a request and returns the status and the body of its reply.
    pub(super) async fn text(&self, method: &str, path: &str, body: Body) -> (StatusCode, String) {
        let reply = self.send(method, path, body).await.unwrap();
        assert_eq!(reply.version(), Version::HTTP_2);
        let status = reply.status();
        let bytes = within("the body", reply.into_body().collect())
            .await
            .unwrap()
            .to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Waits until the server closes the connection gracefully.
    pub(super) async fn ended(mut self) {
        within("the connection's end", self.0.ended()).await.unwrap();
    }
}

pub(super) async fn plain(on: On) -> Server {
    Server::with(on, options(), routes()).await
}

async fn it_gives_the_answers_of_http_1(on: On) {
    let server = plain(on).await;
    let client = Http2Probe::connect(&server).await;
    for (method, path, body, answer) in [
        ("GET", "/hello", "", "hello"),
        ("POST", "/body", "abc", "3 bytes"),
        ("GET", "/seen/a%2Fb?c=%41", "", "/seen/a%2Fb Some(\"c=%41\")"),
        ("GET", "/none", "", "{\"message\":\"no route for GET /none\"}"),
    ] {
        assert_eq!(client.text(method, path, body.into()).await.1, answer);
    }
}

async fn requests_of_one_connection_run_beside_each_other(on: On) {
    // Each handler waits for all others: in sequence they would never end.
    let together = Arc::new(Barrier::new(10));
    let meet = move |_: Context| {
        let together = together.clone();
        async move {
            together.wait().await;
            "met"
        }
    };
    let server = Server::with(on, options(), vec![route("GET", "/meet", meet)]).await;
    let client = Http2Probe::connect(&server).await;
    let meetings = (0..10).map(|_| {
        let reply = client.begin("GET", "/meet", Body::empty());
        async move { reply.await.unwrap().status() }
    });
    let all = within("the replies", futures_util::future::join_all(meetings)).await;
    assert_eq!(all, [StatusCode::OK; 10]);
}

async fn head_has_the_length_and_no_body(on: On) {
    let server = plain(on).await;
    let client = Http2Probe::connect(&server).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.headers()["content-length"], "5");
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
    let unpublished = Server::start((on.open)(options())).await;
    let client = Http2Probe::connect(&unpublished).await;
    let reply = client.send("HEAD", "/hello", Body::empty()).await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.into_body().collect().await.unwrap().to_bytes().is_empty());
}

async fn a_body_beyond_the_limit_gets_413(on: On) {
    let server = Server::limited(on, options(), routes(), 10).await;
    let client = Http2Probe::connect(&server).await;
    let (mut writer, body) = Body::channel();
    let writing = tokio::spawn(async move {
        for _ in 0..4 {
            if writer.write("01234567").await.is_err() {
                return;
            }
        }
        let _ = writer.finish().await;
    });
    assert_eq!(
        client.text("POST", "/body", body).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    within("the writer", writing).await.unwrap();
    let whole = vec![b'x'; 3 * 1024 * 1024];
    assert_eq!(
        client.text("POST", "/body", whole.into()).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(client.text("GET", "/hello", Body::empty()).await.0, StatusCode::OK);
}

async fn a_body_that_stops_coming_gets_408(on: On) {
    const PAUSE: Duration = Duration::from_secs(7);
    let (server, time) = Server::timed(on, options().body_timeout(PAUSE), routes()).await;
    let client = Http2Probe::connect(&server).await;
    let (mut writer, body) = Body::channel();
    let writing = tokio::spawn(async move {
        writer.write("x").await.unwrap();
        // Neither another chunk nor the end of the stream.
        std::future::pending::<()>().await;
        drop(writer);
    });
    let late = async {
        // The pause begins again if the chunk comes after the first wait has begun.
        loop {
            time.until_timer(PAUSE).await;
            time.advance(PAUSE).await;
        }
    };
    let status = tokio::select! {
        (status, _) = client.text("POST", "/body", body) => status,
        () = late => StatusCode::OK,
    };
    assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
    writing.abort();
}

async fn too_many_headers_get_431(on: On) {
    let options = options().max_headers(10);
    let server = Server::with(on, options, routes()).await;
    let client = Http2Probe::connect(&server).await;
    for (count, status) in [(10, StatusCode::OK), (11, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)] {
        let mut request = Request::get("http://a/hello").body(Body::empty()).unwrap();
        for number in 0..count {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            request.headers_mut().insert(name, http::HeaderValue::from_static("y"));
        }
        assert_eq!(client.0.begin(request).await.unwrap().status(), status);
    }
}

async fn the_end_of_a_request_is_not_the_clients(on: On) {
    let gate = RouteGate::default();
    let passes = gate.clone();
    let held = move |context: Context| {
        let gate = passes.clone();
        async move {
            context.bytes().await?;
            gate.pass().await;
            Ok::<_, Failure>("held")
        }
    };
    let (server, time) = Server::timed(on, options(), vec![route("ALL", "/held", held)]).await;
    let client = Http2Probe::connect(&server).await;
    for (method, body) in [("GET", ""), ("POST", "abc")] {
        let (reply, ()) = tokio::join!(client.text(method, "/held", body.into()), gate.open_at_rest(&time));
        assert_eq!(reply, (StatusCode::OK, "held".to_owned()));
    }
}

async fn is_a_real_route(on: On, method: &str) {
    let all = route("ALL", "/all", async |context: Context| context.method().to_string());
    let server = Server::with(on, options(), vec![all]).await;
    let client = Http2Probe::connect(&server).await;
    assert_eq!(client.text(method, "/all", Body::empty()).await.1, method);
}

async fn a_method_of_every_frameworks_list_is_a_real_route(on: On) {
    is_a_real_route(on, "MKWORKSPACE").await;
}

async fn a_method_of_no_frameworks_list_is_a_real_route(on: On) {
    is_a_real_route(on, "PURGE").await;
}

async fn a_handler_knows_its_client(on: On) {
    let tells = async |context: Context| {
        let address = context.remote_address().unwrap_or_default();
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let authority = context.authority().unwrap_or_default();
        format!("{} {host} {authority} {:?}", context.scheme(), context.http_version())
    };
    let server = Server::with(on, options(), vec![route("GET", "/client", tells)]).await;
    let probe = Http2Probe::connect(&server).await;
    let told = probe.text("GET", "/client", Body::empty()).await;
    assert_eq!(told, (StatusCode::OK, "http 127.0.0.1 a HTTP/2.0".to_owned()));
}

async fn a_handler_sees_the_authority_as_the_host(on: On) {
    let server = Server::with(on, options(), vec![hosts()]).await;
    let probe = Http2Probe::connect(&server).await;
    let told = probe.text("GET", "/hosts", Body::empty()).await;
    assert_eq!(told, (StatusCode::OK, "Some(\"a\") [\"a\"]".to_owned()));
    let mut request = Request::get("http://a/hosts").body(Body::empty()).unwrap();
    request
        .headers_mut()
        .insert("host", http::HeaderValue::from_static("A:80"));
    let reply = probe.0.begin(request).await.unwrap().into_body();
    let told = within("the body", reply.collect()).await.unwrap().to_bytes();
    assert_eq!(told, "Some(\"a\") [\"a\"]");
}
