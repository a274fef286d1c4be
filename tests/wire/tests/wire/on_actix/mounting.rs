//! The adapter inside an application that its user already has (spec A9): what only actix-web has.

use actix_web::dev::ServiceResponse;
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, HttpResponse, web};
use pointwork_actix::Actix;
use pointwork_core::{Context, Route};
use pointwork_wire_tests::{cases, connected, published, route, routes};

cases! {
    by super::within_a_system;
    it_may_be_mounted_twice: A9,
    a_scope_leaves_the_path_as_it_was_sent: G6,
    a_limit_of_actix_webs_extractors_is_none_of_the_handlers,
}

fn ours() -> Vec<Route> {
    let at = route("GET", "/api/where", async |context: Context| context.path().to_owned());
    [routes(), vec![at]].concat()
}

async fn text(reply: ServiceResponse<impl actix_web::body::MessageBody>) -> (u16, String) {
    let status = reply.status().as_u16();
    let body = actix_web::body::to_bytes(reply.into_body()).await;
    let body = body.unwrap_or_else(|_| panic!("a whole body"));
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// The status and the text of the replies to GET.
macro_rules! assert_replies {
    ($app:expr; $($path:literal => $status:literal $body:literal),+) => {{
        let app = init_service($app).await;
        $(
            let request = TestRequest::with_uri($path).insert_header(("host", "a")).to_request();
            let (status, body) = text(call_service(&app, request).await).await;
            assert_eq!((status, body.as_str()), ($status, $body), "{}", $path);
        )+
    }};
}

async fn a_scope_leaves_the_path_as_it_was_sent() {
    let service = || connected(Actix::new(), "", ours()).service();
    for app in [
        App::new().service(web::scope("/api").service(service())),
        App::new().configure(|config| {
            config.service(web::scope("/api").service(service()));
        }),
    ] {
        // The route is `/hello`; the scope does not make it `/api/hello`.
        assert_replies!(app;
            "/api/where" => 200 "/api/where",
            "/api/hello" => 404 "{\"message\":\"no route for GET /api/hello\"}"
        );
    }
    let deeper = connected(Actix::new(), "/api/v1", ours()).service();
    let mine = web::get().to(async || "mine");
    let app = App::new().service(web::scope("/api").service(deeper).route("/mine", mine));
    assert_replies!(app;
        "/api/mine" => 200 "mine",
        "/api/v1/x" => 404 "{\"message\":\"no route for GET /api/v1/x\"}"
    );
}

async fn a_limit_of_actix_webs_extractors_is_none_of_the_handlers() {
    let app = App::new()
        .app_data(web::PayloadConfig::new(3))
        .route("/own", web::post().to(async |body: String| body))
        .wrap(published(Actix::new(), ours()).in_front());
    let app = init_service(app).await;
    for (path, status) in [("/own", 413), ("/body", 200)] {
        let request = TestRequest::post().uri(path).insert_header(("host", "a"));
        let reply = call_service(&app, request.set_payload("four").to_request()).await;
        assert_eq!(reply.status().as_u16(), status, "{path}");
    }
}

/// Around the application and within it.
async fn it_may_be_mounted_twice() {
    let theirs = || web::to(async || HttpResponse::ImATeapot().body("theirs"));
    let actix = published(Actix::new(), ours());
    let own = web::scope("/api").route("/where", web::get().to(async || "mine"));
    let app = App::new().service(own.wrap(actix.in_front())).default_service(theirs());
    let app = app.wrap(actix.in_front()).wrap(actix.in_front());
    assert_replies!(app; "/hello" => 200 "hello", "/api/where" => 200 "/api/where", "/none" => 418 "theirs");
    let actix = connected(Actix::new(), "/api", ours());
    let app = App::new()
        .service(web::scope("/api").service(actix.service()))
        .service(actix.service())
        .default_service(theirs());
    assert_replies!(app;
        "/api/where" => 200 "/api/where",
        "/api" => 404 "{\"message\":\"no route for GET /api\"}",
        "/none" => 418 "theirs"
    );
}
