//! The adapter inside an application that its user already has (spec A9).

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::{Payload, ServerHandle, Service, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, HttpMessage, HttpRequest, HttpResponse, HttpServer, web};
use futures_util::{StreamExt as _, stream};
use pointwork_actix::{Actix, ActixService};
use pointwork_core::{Context, Extensions, Route, RouterOptions, Transport as _};
use pointwork_wire_tests::{Probe, cases, connected, observed, publish, published, route, routes, within};

cases! {
    by super::within_a_system;
    in_front_the_rest_goes_on_to_the_users_services_untouched: A9,
    in_front_every_table_is_seen_and_without_one_everything_goes_on: A9 S1,
    in_front_it_may_be_mounted_twice: A9,
    in_front_a_middleware_outside_sees_all_and_one_inside_the_rest: A9 H2,
    in_front_dropping_the_call_cancels_the_handler: A9,
    below_everything_else_goes_on_to_the_users_services: A9,
    below_it_may_be_mounted_twice: A9,
    below_later_tables_are_seen_and_without_one_it_is_503: A9,
    a_scope_leaves_the_path_as_it_was_sent: G6,
    a_middleware_sees_the_request_before_and_the_reply_after: H2,
    dropping_the_call_cancels_the_handler,
    the_users_own_server_serves_both,
    the_users_upgrades_keep_working: A9,
    a_limit_for_bodies_around_it_keeps_its_status,
    a_limit_of_actix_webs_extractors_is_none_of_the_handlers,
}

fn ours() -> Vec<Route> {
    let mut all = routes();
    all.push(route("GET", "/user", async |context: Context| {
        context.extension("user").unwrap_or_default()
    }));
    all.push(route("GET", "/api/where", async |context: Context| {
        context.path().to_owned()
    }));
    all
}

/// The adapter as a service that answers everything.
fn service() -> ActixService {
    connected(Actix::new(), "", ours()).service()
}

fn in_api() -> Actix {
    connected(Actix::new(), "/api", ours())
}

async fn text(reply: ServiceResponse<impl actix_web::body::MessageBody>) -> (u16, String) {
    let status = reply.status().as_u16();
    let body = actix_web::body::to_bytes(reply.into_body()).await;
    let body = body.unwrap_or_else(|_| panic!("a whole body"));
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn send(method: &str, path: &str) -> TestRequest {
    let method = method.parse().unwrap();
    TestRequest::with_uri(path).method(method).insert_header(("host", "a"))
}

fn get(path: &str) -> actix_http::Request {
    send("GET", path).to_request()
}

/// The user's default service: it shows what reached it.
async fn fallback(request: HttpRequest, body: String) -> HttpResponse {
    let user = request
        .extensions()
        .get::<Extensions>()
        .and_then(|known| known.get("user"));
    let matched = request.match_info().iter().count();
    HttpResponse::ImATeapot().body(format!(
        "{} {} {body:?} {user:?} {matched}",
        request.method(),
        request.uri()
    ))
}

async fn in_front_the_rest_goes_on_to_the_users_services_untouched() {
    let app = App::new()
        .route(
            "/echo/{id}",
            web::post().to(async |id: web::Path<String>, body: String| format!("{id} {body}")),
        )
        .route("/slow", web::get().to(async || "never"))
        .default_service(web::to(fallback))
        .wrap(published(Actix::new(), ours()).in_front())
        .wrap_fn(|request, next| {
            let user = Extensions::default();
            user.set("user", "ada");
            request.extensions_mut().insert(user);
            next.call(request)
        });
    let app = init_service(app).await;
    for (method, path, status, body) in [
        ("GET", "/echo/7", 200, "7"),
        ("GET", "/slow", 200, "slow"),
        ("GET", "/user", 200, "ada"),
        ("POST", "/echo/7", 200, "7 a body"),
        ("POST", "/none?a=b", 418, "POST /none?a=b \"a body\" Some(\"ada\") 0"),
        ("DELETE", "/hello", 418, "DELETE /hello \"a body\" Some(\"ada\") 0"),
        ("OPTIONS", "/hello", 418, "OPTIONS /hello \"a body\" Some(\"ada\") 0"),
        ("GET", "/hello/", 418, "GET /hello/ \"a body\" Some(\"ada\") 0"),
        ("GET", "/seen/%ff", 418, "GET /seen/%ff \"a body\" Some(\"ada\") 0"),
        ("GET", "/seen/%zz", 418, "GET /seen/%zz \"a body\" Some(\"ada\") 0"),
    ] {
        let request = send(method, path).set_payload("a body").to_request();
        let reply = text(call_service(&app, request).await).await;
        assert_eq!((reply.0, reply.1.as_str()), (status, body), "{method} {path}");
    }
    let odd = TestRequest::with_uri("/hello").insert_header(("host", "a b"));
    assert_eq!(call_service(&app, odd.to_request()).await.status().as_u16(), 418);
}

async fn in_front_every_table_is_seen_and_without_one_everything_goes_on() {
    let actix = Actix::new();
    let app = App::new().default_service(web::to(fallback)).wrap(actix.in_front());
    let app = init_service(app).await;
    assert_eq!(call_service(&app, get("/hello")).await.status().as_u16(), 418);
    publish(&actix, routes(), RouterOptions::default());
    assert_eq!(
        text(call_service(&app, get("/hello")).await).await,
        (200, "hello".to_owned())
    );
    publish(
        &actix,
        vec![route("GET", "/new", async |_: Context| "new")],
        RouterOptions::default(),
    );
    assert_eq!(call_service(&app, get("/hello")).await.status().as_u16(), 418);
    assert_eq!(
        text(call_service(&app, get("/new")).await).await,
        (200, "new".to_owned())
    );
    actix.close();
    assert_eq!(call_service(&app, get("/new")).await.status().as_u16(), 418);
}

async fn in_front_it_may_be_mounted_twice() {
    let actix = published(Actix::new(), ours());
    let app = App::new()
        .service(
            web::scope("/api")
                .route("/where", web::get().to(async || "mine"))
                .wrap(actix.in_front()),
        )
        .default_service(web::to(fallback))
        .wrap(actix.in_front())
        .wrap(actix.in_front());
    let app = init_service(app).await;
    assert_eq!(text(call_service(&app, get("/hello")).await).await.1, "hello");
    assert_eq!(text(call_service(&app, get("/api/where")).await).await.1, "/api/where");
    assert_eq!(call_service(&app, get("/none")).await.status().as_u16(), 418);
}

async fn in_front_a_middleware_outside_sees_all_and_one_inside_the_rest() {
    let app = App::new()
        .default_service(web::to(fallback))
        .wrap_fn(|request, next| {
            let reply = next.call(request);
            async move { reply.await.map(|reply| marked(reply, "x-inner")) }
        })
        .wrap(published(Actix::new(), ours()).in_front())
        .wrap_fn(|request, next| {
            assert!(request.match_info().is_empty(), "the parameters are not known yet");
            let reply = next.call(request);
            async move { reply.await.map(|reply| marked(reply, "x-outer")) }
        });
    let app = init_service(app).await;
    for (path, inner) in [("/echo/7", false), ("/none", true)] {
        let reply = call_service(&app, get(path)).await;
        assert!(reply.headers().contains_key("x-outer"), "{path}");
        assert_eq!(reply.headers().contains_key("x-inner"), inner, "{path}");
    }
}

fn marked<B>(mut reply: ServiceResponse<B>, name: &'static str) -> ServiceResponse<B> {
    let value = HeaderValue::from_static("yes");
    reply.headers_mut().insert(HeaderName::from_static(name), value);
    reply
}

async fn in_front_dropping_the_call_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let actix = published(Actix::new(), vec![observed]);
    let app = init_service(App::new().wrap(actix.in_front())).await;
    let call = actix_rt::spawn(app.call(get("/observed")));
    began.notified().await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

async fn below_everything_else_goes_on_to_the_users_services() {
    let app = App::new()
        .service(in_api().service())
        .route("/mine", web::get().to(async || "mine"))
        .route("/api/mine", web::get().to(async || "never"))
        .default_service(web::to(fallback));
    let app = init_service(app).await;
    for (method, path, status, body) in [
        ("GET", "/api/where", 200, "/api/where"),
        ("GET", "/api", 404, "{\"message\":\"no route for GET /api\"}"),
        ("GET", "/api/mine", 404, "{\"message\":\"no route for GET /api/mine\"}"),
        (
            "POST",
            "/api/where",
            405,
            "{\"message\":\"POST is not allowed for /api/where\"}",
        ),
        ("GET", "/mine", 200, "mine"),
        ("POST", "/apix", 418, "POST /apix \"a body\" None 0"),
        ("GET", "/%61pi/where", 418, "GET /%61pi/where \"a body\" None 0"),
        ("GET", "/hello", 418, "GET /hello \"a body\" None 0"),
    ] {
        let request = send(method, path).set_payload("a body").to_request();
        let reply = text(call_service(&app, request).await).await;
        assert_eq!((reply.0, reply.1.as_str()), (status, body), "{method} {path}");
    }
}

async fn below_it_may_be_mounted_twice() {
    let actix = in_api();
    let app = App::new()
        .service(web::scope("/api").service(actix.service()))
        .service(actix.service())
        .default_service(web::to(fallback));
    let app = init_service(app).await;
    assert_eq!(text(call_service(&app, get("/api/where")).await).await.1, "/api/where");
    assert_eq!(call_service(&app, get("/api")).await.status().as_u16(), 404);
    assert_eq!(call_service(&app, get("/none")).await.status().as_u16(), 418);
}

async fn below_later_tables_are_seen_and_without_one_it_is_503() {
    let actix = connected(Actix::new(), "/api", Vec::new());
    let app = init_service(App::new().service(actix.service()).default_service(web::to(fallback))).await;
    assert_eq!(call_service(&app, get("/api/where")).await.status().as_u16(), 404);
    publish(&actix, ours(), RouterOptions::default());
    assert_eq!(call_service(&app, get("/api/where")).await.status().as_u16(), 200);
    actix.close();
    assert_eq!(call_service(&app, get("/api/where")).await.status().as_u16(), 503);
    assert_eq!(call_service(&app, get("/none")).await.status().as_u16(), 418);
    // The prefix is known from the connection on.
    let app = App::new()
        .service(Actix::new().service())
        .default_service(web::to(fallback));
    let app = init_service(app).await;
    assert_eq!(call_service(&app, get("/hello")).await.status().as_u16(), 418);
}

async fn a_scope_leaves_the_path_as_it_was_sent() {
    for app in [
        App::new().service(web::scope("/api").service(service())),
        App::new().configure(|config| {
            config.service(web::scope("/api").service(service()));
        }),
    ] {
        let app = init_service(app).await;
        assert_eq!(text(call_service(&app, get("/api/where")).await).await.1, "/api/where");
        // The route is `/hello`; the scope does not make it `/api/hello`.
        assert_eq!(call_service(&app, get("/api/hello")).await.status().as_u16(), 404);
    }
    let deeper = connected(Actix::new(), "/api/v1", ours());
    let app = App::new().service(
        web::scope("/api")
            .service(deeper.service())
            .route("/mine", web::get().to(async || "mine")),
    );
    let app = init_service(app).await;
    assert_eq!(text(call_service(&app, get("/api/mine")).await).await.1, "mine");
    assert_eq!(
        text(call_service(&app, get("/api/v1/x")).await).await.1,
        "{\"message\":\"no route for GET /api/v1/x\"}"
    );
}

async fn a_middleware_sees_the_request_before_and_the_reply_after() {
    let app = App::new().service(service()).wrap_fn(|request, next| {
        assert!(request.match_info().is_empty(), "the parameters are not known yet");
        let user = Extensions::default();
        user.set("user", "ada");
        request.extensions_mut().insert(user);
        let reply = next.call(request);
        async move { reply.await.map(|reply| marked(reply, "x-layer")) }
    });
    let app = init_service(app).await;
    let reply = call_service(&app, get("/user")).await;
    assert_eq!(reply.headers().get("x-layer").unwrap(), "yes");
    assert_eq!(read_body(reply).await, "ada");
}

async fn dropping_the_call_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let actix = connected(Actix::new(), "", vec![observed]);
    let app = init_service(App::new().service(actix.service())).await;
    let call = actix_rt::spawn(app.call(get("/observed")));
    began.notified().await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

/// The user's own server, with its parser and timeouts, and one adapter for each way of mounting.
fn serve() -> (SocketAddr, ServerHandle) {
    let (front, below) = (
        published(Actix::new(), ours()),
        connected(Actix::new(), "/api", vec![below_body()]),
    );
    let server = HttpServer::new(move || {
        App::new()
            .service(below.service())
            .route("/mine", web::post().to(async |body: String| body))
            .route("/socket", web::get().to(echo))
            .wrap(front.in_front())
    });
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    (address, handle)
}

fn below_body() -> Route {
    route("POST", "/api/body", async |context: Context| {
        let body = context.bytes().await?;
        Ok::<_, pointwork_core::Failure>(format!("{} bytes", body.len()))
    })
}

async fn echo(payload: web::Payload) -> HttpResponse {
    HttpResponse::SwitchingProtocols()
        .upgrade("websocket")
        .streaming(payload)
}

async fn the_users_own_server_serves_both() {
    let (address, handle) = serve();
    let mut client = Probe::connect(address).await;
    assert_eq!(client.get("/echo/1").await.body, "1");
    for (path, body) in [
        ("/body", "15 bytes"),
        ("/api/body", "15 bytes"),
        ("/mine", "abcdeabcdeabcde"),
    ] {
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 15\r\n\r\n{}",
                "abcde".repeat(3)
            ))
            .await;
        assert_eq!(client.reply().await.body, body, "{path}");
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
            ))
            .await;
        for _ in 0..3 {
            client.send("5\r\nabcde\r\n").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        client.send("0\r\n\r\n").await;
        assert_eq!(client.reply().await.body, body, "{path}");
    }
    client.send("HEAD /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(client.head().await.contains("content-length: 5\r\n"));
    assert_eq!(client.get("/nowhere").await.status(), 404);
    handle.stop(false).await;
}

async fn the_users_upgrades_keep_working() {
    let (address, handle) = serve();
    let mut client = Probe::connect(address).await;
    client
        .send("GET /socket HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        .await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    client.send("one").await;
    assert_eq!(client.exactly(3).await, b"one");
    handle.stop(false).await;
}

async fn a_limit_for_bodies_around_it_keeps_its_status() {
    let app = App::new().wrap(published(Actix::new(), ours()).in_front());
    let app = app.wrap_fn(|mut request, next| {
        let beyond = stream::iter([Ok("1234".into()), Err(PayloadError::Overflow)]);
        request.set_payload(Payload::from(beyond.boxed_local()));
        next.call(request)
    });
    let app = init_service(app).await;
    let request = send("POST", "/body").to_request();
    assert_eq!(
        text(call_service(&app, request).await).await,
        (413, "{\"message\":\"the body is longer than allowed\"}".to_owned())
    );
}

async fn a_limit_of_actix_webs_extractors_is_none_of_the_handlers() {
    let app = App::new()
        .app_data(web::PayloadConfig::new(3))
        .route("/own", web::post().to(async |body: String| body))
        .wrap(published(Actix::new(), ours()).in_front());
    let app = init_service(app).await;
    for (path, status) in [("/own", 413), ("/body", 200)] {
        let request = send("POST", path).set_payload("four").to_request();
        assert_eq!(call_service(&app, request).await.status().as_u16(), status, "{path}");
    }
}
