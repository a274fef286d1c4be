//! The adapter inside an application that its user already has (spec A9).

use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, HttpMessage, HttpResponse, HttpServer, web};
use pointwork_actix::{Actix, ActixService};
use pointwork_core::{Context, Extensions, RouterOptions};
use pointwork_wire_tests::{Probe, cases, observed, publish, published, route, routes, within};

cases! {
    by super::within_a_system;
    the_users_routes_come_first_and_the_rest_is_ours,
    it_can_be_one_service_among_others,
    a_scope_leaves_the_path_as_it_was_sent,
    a_middleware_sees_the_request_before_and_the_reply_after,
    later_tables_are_seen_without_mounting_again,
    dropping_the_call_cancels_the_handler,
    the_users_own_server_serves_it,
}

fn adapter() -> Actix {
    let mut all = routes();
    all.push(route("GET", "/user", async |context: Context| {
        context.extension("user").unwrap_or_default()
    }));
    all.push(route("GET", "/api/where", async |context: Context| {
        context.path().to_owned()
    }));
    published(Actix::new(), all)
}

fn service() -> ActixService {
    adapter().service()
}

async fn text(reply: ServiceResponse) -> String {
    String::from_utf8(read_body(reply).await.to_vec()).unwrap()
}

fn get(path: &str) -> actix_http::Request {
    TestRequest::get().uri(path).insert_header(("host", "a")).to_request()
}

async fn the_users_routes_come_first_and_the_rest_is_ours() {
    let app = App::new()
        .route("/mine", web::get().to(async || "mine"))
        .default_service(service());
    let app = init_service(app).await;
    assert_eq!(text(call_service(&app, get("/mine")).await).await, "mine");
    assert_eq!(text(call_service(&app, get("/echo/7")).await).await, "7");
    assert_eq!(
        call_service(&app, get("/nowhere")).await.status(),
        StatusCode::NOT_FOUND
    );
}

async fn it_can_be_one_service_among_others() {
    let app = App::new()
        .service(service())
        .route("/late", web::get().to(async || "never"));
    let app = init_service(app).await;
    assert_eq!(text(call_service(&app, get("/hello")).await).await, "hello");
    assert_eq!(call_service(&app, get("/late")).await.status(), StatusCode::NOT_FOUND);
}

async fn a_scope_leaves_the_path_as_it_was_sent() {
    for app in [
        App::new().service(web::scope("/api").default_service(service())),
        App::new().service(web::scope("/api").service(service())),
        App::new().configure(|config| {
            config.service(web::scope("/api").default_service(service()));
        }),
    ] {
        let app = init_service(app).await;
        assert_eq!(text(call_service(&app, get("/api/where")).await).await, "/api/where");
        // The route is `/hello`; the scope does not make it `/api/hello`.
        assert_eq!(
            call_service(&app, get("/api/hello")).await.status(),
            StatusCode::NOT_FOUND
        );
    }
}

async fn a_middleware_sees_the_request_before_and_the_reply_after() {
    let app = App::new().default_service(service()).wrap_fn(|request, next| {
        // The middleware runs before the parameters are known (spec H2).
        assert!(request.match_info().is_empty());
        let user = Extensions::default();
        user.set("user", "ada");
        request.extensions_mut().insert(user);
        let reply = next.call(request);
        async move {
            let mut reply = reply.await?;
            let (name, value) = (HeaderName::from_static("x-layer"), HeaderValue::from_static("seen"));
            reply.headers_mut().insert(name, value);
            Ok(reply)
        }
    });
    let app = init_service(app).await;
    let reply = call_service(&app, get("/user")).await;
    assert_eq!(reply.headers().get("x-layer").unwrap(), "seen");
    assert_eq!(text(reply).await, "ada");
}

async fn later_tables_are_seen_without_mounting_again() {
    let actix = Actix::new();
    let app = init_service(App::new().default_service(actix.service())).await;
    assert_eq!(
        call_service(&app, get("/hello")).await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    publish(&actix, routes(), RouterOptions::default());
    assert_eq!(call_service(&app, get("/hello")).await.status(), StatusCode::OK);
}

async fn dropping_the_call_cancels_the_handler() {
    let (observed, began, dropped) = observed("GET");
    let actix = published(Actix::new(), vec![observed]);
    let app = init_service(App::new().default_service(actix.service())).await;
    let call = actix_rt::spawn(app.call(get("/observed")));
    began.notified().await;
    call.abort();
    within("the handler's drop", dropped.notified()).await;
}

/// The adapter in the user's own server, with that server's parser and timeouts.
async fn the_users_own_server_serves_it() {
    let actix = adapter();
    let server = HttpServer::new(move || {
        App::new()
            .route("/mine", web::to(HttpResponse::NoContent))
            .default_service(actix.service())
    });
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    let mut client = Probe::connect(address).await;
    assert_eq!(client.get("/echo/1").await.body, "1");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nok")
        .await;
    assert_eq!(client.reply().await.body, "2 bytes");
    client
        .send("POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    for _ in 0..3 {
        client.send("5\r\nabcde\r\n").await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client.send("0\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "15 bytes");
    assert_eq!(client.get("/mine").await.status(), 204);
    client.send("HEAD /hello HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(client.head().await.contains("content-length: 5\r\n"));
    assert_eq!(client.get("/nowhere").await.status(), 404);
    handle.stop(false).await;
}
