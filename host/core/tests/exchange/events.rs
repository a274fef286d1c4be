//! The names of events.

use http::{Method, Request, StatusCode};
use pointwork_core::{Body, Context, Delivery, Failure, FailureCode, Payload};

use super::Stand;
use super::support::drained;

/// Spec E6.
#[tokio::test]
async fn failures_are_counted_by_code_and_party_at_fault() {
    let stand = Stand::new(|ctx: Context| async move {
        match ctx.param("id").unwrap_or_default() {
            "call" => ctx.call_raw("db:nobody", Payload::null()).await.map(drop),
            "caught" => {
                let _ = ctx.call_raw("db:nobody", Payload::null()).await;
                ctx.send("caught")
            }
            "over" => ctx.hand_over_raw("db:nobody", Payload::null()),
            "payload" => ctx.call_raw("db:one", Payload::null()).await.map(drop),
            "body" => Err(Failure::bad_payload("the body has no field `id`")),
            "unreachable" => Err(Failure::of(FailureCode::UNREACHABLE, "gone")),
            "invented" => {
                let code = FailureCode::new("of-an-application");
                Err(Failure::with_code(code, StatusCode::BAD_GATEWAY, "no"))
            }
            "missing" => Err(Failure::new(StatusCode::NOT_FOUND, "no such product")),
            "emit" => {
                ctx.emit_raw("db:nobody", Payload::null())
                    .emit_raw("db:one", Payload::null());
                ctx.send("emitted")
            }
            _ => panic!("a panic on purpose"),
        }
    });
    let one = |_: Delivery, _: Payload| async { Err(Failure::bad_payload("the payload has no field `id`")) };
    stand.listen("db", "one", one).unwrap();
    let mut statuses = Vec::new();
    for path in [
        "/call",
        "/caught",
        "/over",
        "/payload",
        "/body",
        "/unreachable",
        "/invented",
        "/missing",
        "/emit",
        "/panic",
    ] {
        let request = Request::builder().method(Method::GET).uri(path).header("host", "test");
        let (status, text) = stand.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(text.contains("internal error"), status == 500, "{path}: {text}");
        statuses.push(status.as_u16());
    }
    assert_eq!(statuses, [500, 200, 500, 500, 400, 503, 502, 404, 200, 500]);
    drained(&stand.bus).await;
    let counts = stand.bus.failures();
    let counts: Vec<_> = counts.iter().map(|of| (of.code, of.fault.as_str(), of.count)).collect();
    let expected = [
        ("unknown-event", "module", 3),
        ("bad-payload", "client", 1),
        ("bad-payload", "module", 2),
        ("unreachable", "channel", 1),
        ("failed", "client", 1),
        ("failed", "module", 1),
        ("other", "module", 1),
    ];
    assert_eq!(counts, expected);
}

#[tokio::test]
async fn a_name_whose_first_part_is_a_channel_is_looked_up_there_alone() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("audit", "product:viewed", echo).unwrap();
    assert!(
        stand
            .bus
            .caller()
            .call_raw("product:viewed", Payload::null())
            .await
            .is_ok()
    );
    stand.listen("product", "sold", echo).unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("product:viewed", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
}
