//! The exact bytes of a reply, and the exact request that a handler sees.

use http::{Response, StatusCode};
use pointwork_core::{Body, Context, Route, ServerOptions};
use pointwork_test_clock::real::PATIENCE;

use crate::{On, Server, route, routes};

crate::cases! {
    a_reply_has_one_content_length: A1,
    head_has_the_length_and_no_body: A8,
    statuses_without_a_body_have_none: A1,
    a_streamed_reply_to_head_has_no_length_and_no_body: A1,
    the_target_arrives_as_it_was_sent: H9,
    a_fragment_is_cut_off_the_target: H9,
    the_authority_of_a_target_need_not_be_the_host: H9,
    a_handler_sees_the_authority_of_the_target_as_the_host: H9,
    every_form_of_target_is_answered: A1,
    connect_opens_no_tunnel: A1,
    connect_is_a_request_like_any_other: D2 A4,
    a_connection_goes_on_after_a_refused_connect: A1,
    a_wish_to_upgrade_changes_nothing: A1,
    headers_arrive_with_their_doubles_and_odd_bytes: H9,
    headers_arrive_in_the_order_in_which_they_were_sent: H9,
    a_handler_knows_its_client: H9,
    every_reply_of_the_core_has_the_id_of_its_request: H9,
}

/// The reply to one request with `connection: close`.
async fn exchange(server: &Server, line: &str) -> String {
    server
        .exchange(format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"))
        .await
}

/// The usual routes, and [`status`].
async fn of_status(on: On) -> Server {
    Server::and(on, status()).await
}

/// `/status/:status` replies with framing headers that are wrong.
fn status() -> Route {
    let handler = async |context: Context| {
        let status = StatusCode::from_bytes(context.param("status").unwrap().as_bytes()).unwrap();
        Response::builder()
            .status(status)
            .header("content-length", "99")
            .header("transfer-encoding", "chunked")
            .body(Body::from("some body"))
            .unwrap()
    };
    route("ALL", "/status/:status", handler)
}

async fn a_reply_has_one_content_length(on: On) {
    let server = of_status(on).await;
    assert_eq!(
        exchange(&server, "GET /status/200").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nsome body"
    );
}

async fn head_has_the_length_and_no_body(on: On) {
    let server = of_status(on).await;
    assert_eq!(
        exchange(&server, "HEAD /status/200").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
    );
    assert_eq!(
        exchange(&server, "HEAD /hello").await,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    );
}

async fn statuses_without_a_body_have_none(on: On) {
    let server = of_status(on).await;
    for (status, words) in [(204, "No Content"), (304, "Not Modified")] {
        for method in ["GET", "HEAD"] {
            assert_eq!(
                exchange(&server, &format!("{method} /status/{status}")).await,
                format!("HTTP/1.1 {status} {words}\r\nconnection: close\r\n\r\n")
            );
        }
    }
    assert_eq!(
        exchange(&server, "GET /status/205").await,
        "HTTP/1.1 205 Reset Content\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
}

async fn a_streamed_reply_to_head_has_no_length_and_no_body(on: On) {
    let streamed = async |context: Context| {
        let mut writer = context.open_reply(Response::new(())).unwrap();
        let _ = writer.write("chunk").await;
        let _ = writer.finish().await;
    };
    let server = Server::with(on, ServerOptions::new(), vec![route("GET", "/streamed", streamed)]).await;
    let reply = exchange(&server, "HEAD /streamed").await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("content-length"), "{reply}");
}

async fn assert_seen(on: On, targets: &[(&str, &str)]) {
    let server = Server::plain(on).await;
    for (target, seen) in targets {
        assert_eq!(server.client().await.get(target).await.body, *seen, "{target}");
    }
}

async fn the_target_arrives_as_it_was_sent(on: On) {
    let targets = [
        (
            "/seen/a%2Fb%20c/../d//e?q=%41&r",
            "/seen/a%2Fb%20c/../d//e Some(\"q=%41&r\")",
        ),
        ("http://a/seen/x?", "/seen/x Some(\"\")"),
        ("/seen/~!$&'()*+,;=:@", "/seen/~!$&'()*+,;=:@ None"),
        ("/seen//", "/seen// None"),
    ];
    assert_seen(on, &targets).await;
}

/// A client must not send a fragment.
async fn a_fragment_is_cut_off_the_target(on: On) {
    assert_seen(on, &[("/seen/x#fragment", "/seen/x None")]).await;
}

async fn the_authority_of_a_target_need_not_be_the_host(on: On) {
    assert_seen(on, &[("http://other/seen/x", "/seen/x None")]).await;
}

/// A route that replies with the authority and every `Host` that its handler sees.
pub(super) fn hosts() -> Route {
    route("GET", "/hosts", async |context: Context| {
        let hosts: Vec<_> = context.headers().get_all("host").iter().collect();
        format!("{:?} {hosts:?}", context.authority())
    })
}

async fn a_handler_sees_the_authority_of_the_target_as_the_host(on: On) {
    let server = Server::and(on, hosts()).await;
    for (target, seen) in [
        ("/hosts", "a:8080"),
        ("http://A:8080/hosts", "A:8080"),
        ("http://a:8080/hosts", "a:8080"),
        ("http://other/hosts", "other"),
    ] {
        let mut client = server.client().await;
        client
            .send(format!("GET {target} HTTP/1.1\r\nhost: a:8080\r\n\r\n"))
            .await;
        let expected = format!("Some(\"{seen}\") [\"{seen}\"]");
        assert_eq!(client.reply().await.body, expected, "{target}");
    }
}

async fn every_form_of_target_is_answered(on: On) {
    let server = of_status(on).await;
    let asterisk = exchange(&server, "OPTIONS *").await;
    assert!(asterisk.starts_with("HTTP/1.1 "), "{asterisk}");
    assert!(!asterisk.starts_with("HTTP/1.1 5"), "{asterisk}");
    let authority = exchange(&server, "CONNECT a:80").await;
    assert!(authority.starts_with("HTTP/1.1 4"), "{authority}");
}

async fn connect_opens_no_tunnel(on: On) {
    let mut options = ServerOptions::new();
    // The timeouts are longer than the case: only the reply can end the connection.
    let never = Some(60 * PATIENCE);
    options.first_byte_timeout = never;
    options.header_timeout = never;
    options.body_timeout = never;
    options.write_timeout = never;
    let server = Server::with(on, options, [routes(), vec![status()]].concat()).await;
    let reply = server
        .raw("CONNECT /status/200 HTTP/1.1\r\nhost: a\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    assert!(!reply.contains("hello"), "{reply}");
}

async fn connect_is_a_request_like_any_other(on: On) {
    let refuse = route("CONNECT", "/tunnel", async |_: Context| StatusCode::FORBIDDEN);
    let server = Server::with(on, ServerOptions::new(), vec![refuse]).await;
    assert_eq!(server.client().await.ask("CONNECT", "/tunnel").await.status(), 403);
}

async fn a_connection_goes_on_after_a_refused_connect(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    let reply = client.ask("CONNECT", "/hello").await;
    assert_eq!(reply.status(), 405);
    assert!(reply.all("connection").is_empty(), "the connection closes: {reply:?}");
    assert_eq!(client.ask("CONNECT", "/hello").await.status(), 405);
}

async fn a_wish_to_upgrade_changes_nothing(on: On) {
    let server = of_status(on).await;
    let mut client = server.client().await;
    for (path, status) in [("/hello", 200), ("/status/101", 500)] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
        client.send(request).await;
        assert_eq!(client.reply().await.status(), status, "{path}");
    }
    assert_eq!(client.get("/echo/1").await.body, "1");
}

/// Every header line in the order in which a handler sees it.
async fn lines(on: On, request: &[u8]) -> String {
    let told = async |context: Context| {
        let lines = context.headers().iter().map(|(name, value)| {
            let value: String = value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
            format!("{name}={value}")
        });
        lines.collect::<Vec<_>>().join("|")
    };
    let server = Server::with(on, ServerOptions::new(), vec![route("GET", "/headers", told)]).await;
    let mut client = server.client().await;
    client
        .send([b"GET /headers HTTP/1.1\r\n", request, b"\r\n"].concat())
        .await;
    client.reply().await.body
}

async fn headers_arrive_with_their_doubles_and_odd_bytes(on: On) {
    let request = b"X-B: 1\r\nhost: a\r\nx-a:\t2 \r\nx-b:3\r\nUpgrade: h2c\r\nx-empty:\r\nx-odd: \xff\r\nx-t: \r\n";
    let told = lines(on, request).await;
    let mut lines: Vec<_> = told.split('|').collect();
    // Lines of one name keep their order; a stable sort by name shows it.
    lines.sort_by_key(|line| line.split('=').next());
    assert_eq!(
        lines.join("|"),
        "host=a|upgrade=h2c|x-a=2|x-b=1|x-b=3|x-empty=|x-odd=\u{ff}|x-t="
    );
}

async fn headers_arrive_in_the_order_in_which_they_were_sent(on: On) {
    // So many that a server which forgets the order does not find it again by chance.
    let names: Vec<_> = ["c", "a", "l", "e", "b", "k", "d", "g", "f", "j", "i", "h"]
        .map(|name| format!("x-{name}"))
        .into();
    let request: String = names.iter().map(|name| format!("{name}: 1\r\n")).collect();
    let told: Vec<_> = names.iter().map(|name| format!("{name}=1")).collect();
    let request = format!("host: a\r\n{request}");
    assert_eq!(
        lines(on, request.as_bytes()).await,
        format!("host=a|{}", told.join("|"))
    );
}

async fn a_handler_knows_its_client(on: On) {
    let tells = async |context: Context| {
        let address = context.remote_address().unwrap_or_default();
        let authority = context.authority().unwrap_or_default();
        format!(
            "{} {address} {authority} {:?}",
            context.scheme(),
            context.http_version()
        )
    };
    let server = Server::and(on, route("GET", "/client", tells)).await;
    let mut client = server.client().await;
    let address = client.stream().local_addr().unwrap();
    let head = "GET /client HTTP/1.1\r\nhost: shop.test:81\r\nforwarded: for=192.0.2.7;proto=https\r\n";
    client.send(format!("{head}x-forwarded-for: 192.0.2.7\r\n\r\n")).await;
    assert_eq!(
        client.reply().await.body,
        format!("http {address} shop.test:81 HTTP/1.1")
    );
}

async fn every_reply_of_the_core_has_the_id_of_its_request(on: On) {
    let server = Server::limited(on, ServerOptions::default(), routes(), 10).await;
    for (request, status) in [
        ("GET /hello", 200),
        ("HEAD /hello", 200),
        ("POST /hello", 405),
        ("OPTIONS /hello", 204),
        ("GET /none", 404),
        ("GET /%zz", 400),
        ("POST /body", 413),
        ("POST /whole", 413),
    ] {
        let length = if request.starts_with("POST") { 11 } else { 0 };
        let body = "x".repeat(length);
        let head = format!("{request} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\nconnection: close\r\n");
        for (id, expected) in [("x-request-id: mine-1\r\n", Some("x-request-id: mine-1")), ("", None)] {
            let reply = server.raw(format!("{head}{id}\r\n{body}")).await.to_ascii_lowercase();
            assert!(reply.starts_with(&format!("http/1.1 {status} ")), "{request}: {reply}");
            let ids: Vec<_> = reply
                .lines()
                .filter(|line| line.starts_with("x-request-id: "))
                .collect();
            assert_eq!(ids.len(), 1, "{request}: {reply}");
            assert!(expected.is_none_or(|expected| ids[0] == expected), "{request}: {reply}");
        }
    }
}
