//! The head of a request as its handler sees it: client, version, times (spec H9).

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use http::{Method, Request, Version};
use pointwork_core::{Body, BusOptions, Context, Delivery, Failure, Payload, Peer};

use super::{Stand, request};

fn stand(trusted: &[&str]) -> Stand {
    let tells = |ctx: Context| async move {
        let address = ctx.remote_address();
        let address = address.as_deref().unwrap_or("(none)");
        let authority = ctx.authority().unwrap_or("(none)");
        format!("{} {address} {authority} {:?}", ctx.scheme(), ctx.http_version())
    };
    let networks = trusted.iter().map(|network| network.parse().unwrap()).collect();
    Stand::with(tells, |options| options.trusted_proxies = networks, BusOptions::new())
}

fn from(peer: Peer) -> Request<Body> {
    let mut request = request(Method::GET, Body::empty());
    request.extensions_mut().insert(peer);
    request
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn the_client_is_the_peer() {
    let stand = stand(&[]);
    assert_eq!(stand.get().await.1, "http (none) test HTTP/1.1");
    let mut request = from(Peer::new(address("192.0.2.7:80"), true));
    request
        .headers_mut()
        .insert("x-forwarded-for", "203.0.113.1".parse().unwrap());
    request
        .headers_mut()
        .insert("x-forwarded-proto", "http".parse().unwrap());
    assert_eq!(stand.send(request).await.1, "https 192.0.2.7:80 test HTTP/1.1");
    let request = from(Peer::new(address("[2001:db8::7]:80"), false));
    assert_eq!(stand.send(request).await.1, "http [2001:db8::7]:80 test HTTP/1.1");
    let request = from(Peer::without_port("2001:db8::7".parse().unwrap(), false));
    assert_eq!(stand.send(request).await.1, "http 2001:db8::7 test HTTP/1.1");
}

#[tokio::test]
async fn the_client_is_reported_by_a_proxy_that_is_trusted() {
    let stand = stand(&["10.0.0.0/8"]);
    let mut request = from(Peer::new(address("10.1.2.3:80"), false));
    let forwarded = "for=203.0.113.1, for=\"192.0.2.7:4711\";proto=https".parse().unwrap();
    request.headers_mut().insert("forwarded", forwarded);
    assert_eq!(stand.send(request).await.1, "https 192.0.2.7:4711 test HTTP/1.1");
}

#[tokio::test]
async fn the_authority_is_that_of_the_target_or_of_host() {
    let stand = stand(&[]);
    let mut absolute = Request::get("http://shop.test:81/7")
        .header("host", "shop.test:81")
        .body(Body::empty())
        .unwrap();
    assert_eq!(stand.send(absolute).await.1, "http (none) shop.test:81 HTTP/1.1");
    absolute = Request::get("https://shop.test/7")
        .version(Version::HTTP_2)
        .body(Body::empty())
        .unwrap();
    // A client may claim any scheme.
    assert_eq!(stand.send(absolute).await.1, "http (none) shop.test HTTP/2.0");
    let old = Request::get("/7")
        .version(Version::HTTP_10)
        .body(Body::empty())
        .unwrap();
    assert_eq!(stand.send(old).await.1, "http (none) (none) HTTP/1.0");
}

#[tokio::test]
async fn a_handler_sees_when_its_request_came_and_when_it_ends() {
    let stand = Stand::with(
        |ctx: Context| async move {
            let (received, deadline) = (ctx.received_at(), ctx.deadline().unwrap());
            assert_eq!(ctx.received_at(), received);
            assert_eq!(deadline - ctx.arrived(), Duration::from_secs(60));
            assert!(!ctx.is_cancelled());
            received
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap()
                .as_micros()
                .to_string()
        },
        |options| options.deadline = Some(Duration::from_secs(60)),
        BusOptions::new(),
    );
    let micros = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    let before = micros(SystemTime::now());
    let received: u128 = stand.get().await.1.parse().unwrap();
    // The clock of the system has another resolution than that of `Instant`.
    assert!((before - 1000..=micros(SystemTime::now())).contains(&received));
}

/// A stand whose handler gives its context away and waits for ever.
fn held(deadline: Duration) -> (Stand, tokio::sync::oneshot::Receiver<Context>) {
    let (give, given) = tokio::sync::oneshot::channel();
    let give = Mutex::new(Some(give));
    let handler = move |ctx: Context| {
        let give = give.lock().unwrap().take();
        async move {
            give.unwrap().send(ctx).unwrap();
            std::future::pending::<()>().await;
        }
    };
    let stand = Stand::with(handler, |options| options.deadline = Some(deadline), BusOptions::new());
    (stand, given)
}

#[tokio::test]
async fn a_request_is_cancelled_when_its_client_goes_away() {
    let (stand, given) = held(Duration::from_secs(60));
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let context = given.await.unwrap();
    assert!(!context.is_cancelled());
    request.abort();
    assert!(request.await.is_err());
    assert!(context.is_cancelled());
}

#[tokio::test]
async fn a_request_is_cancelled_at_its_deadline_but_not_by_its_reply() {
    const DEADLINE: Duration = Duration::from_secs(7);
    let (stand, given) = held(DEADLINE);
    let request = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let context = given.await.unwrap();
    stand.time.advance(DEADLINE - Duration::from_nanos(1)).await;
    assert!(!context.is_cancelled() && !request.is_finished());
    stand.time.advance(Duration::from_nanos(1)).await;
    request.await.unwrap();
    assert!(context.is_cancelled());

    let (stand, given) = held(DEADLINE);
    let request = tokio::spawn(stand.router.respond(None, super::request(Method::GET, Body::empty())));
    let context = given.await.unwrap();
    context.send("in time").unwrap();
    request.await.unwrap();
    stand.time.advance(2 * DEADLINE).await;
    assert!(!context.is_cancelled());
}

#[tokio::test]
async fn a_delivery_is_cancelled_with_the_call_that_waits_for_it() {
    let (give, mut given) = tokio::sync::mpsc::unbounded_channel();
    let stand = Stand::with(
        |ctx: Context| async move { ctx.call_raw("a:slow", Payload::null()).await.map(|_| "done") },
        |options| options.deadline = Some(Duration::from_secs(60)),
        BusOptions::new(),
    );
    let slow = move |delivery: Delivery, _: Payload| {
        let give = give.clone();
        async move {
            give.send(delivery).unwrap();
            std::future::pending::<Result<Payload, Failure>>().await
        }
    };
    stand.listen("a", "slow", slow).unwrap();
    let relay = |delivery: Delivery, payload: Payload| async move { delivery.call_raw("a:slow", payload).await };
    stand.listen("a", "relay", relay).unwrap();

    let asked = tokio::spawn(stand.router.respond(None, request(Method::GET, Body::empty())));
    let delivery: Delivery = given.recv().await.unwrap();
    assert!(!delivery.is_cancelled());
    let left = delivery.deadline().unwrap() - stand.time.now();
    assert_eq!(left, Duration::from_secs(60), "the request's own");
    asked.abort();
    assert!(asked.await.is_err());
    assert!(delivery.is_cancelled());

    // Nobody ever waits for an emitted event, but somebody for a call that follows from it.
    stand.bus.caller().emit_raw("a:relay", Payload::null());
    let delivery = given.recv().await.unwrap();
    assert!(!delivery.is_cancelled());
}
