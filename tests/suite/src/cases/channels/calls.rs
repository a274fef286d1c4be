//! A call, and the one listener that answers it (spec C, H3, H8).

use anyhow::Result;
use pointwork_core::{Context, Failure, Payload};

use super::watch::Gate;
use super::{adding, adds, calling, calling_from, routing};
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, End, Program, Step};
use crate::subject::AppSpec;

cases![
    sdk;
    a_call_returns_what_the_listener_returns: C1, C3, H3 of sdk and adapter in hosts;
    a_call_waits_for_its_listener: C3, H3 in hosts;
    a_native_handler_calls_as_a_guest_does: C3, H3 of host in hosts;
    the_first_part_names_the_channel: C2, C3 of host;
    a_name_without_a_channel_is_a_plain_event: C2, C3 of host;
    a_plain_name_of_two_channels_is_ambiguous: C2, C3 of host;
    a_name_with_two_readings_is_ambiguous: C2, C3 of host;
    an_unknown_event_names_the_nearest: C3, C4;
    emitting_an_unknown_event_is_logged: C4 of host;
    a_failure_of_the_listener_reaches_the_caller: C3, H3 in hosts;
    a_payload_of_the_wrong_type_is_a_decode_error: H8;
    a_call_without_a_payload_is_null: C3, H3;
    a_payload_keeps_its_content_type: C3, H8 in hosts;
    a_listener_knows_its_event_and_the_request: C1, C3, H9 in hosts;
    a_call_brings_no_context: C3, H6 in hosts;
    one_channel_has_many_listeners: C1, C3;
];

async fn a_call_returns_what_the_listener_returns(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for form in Flavor::MODULES {
            let app = calling_from(form, "db:one").channel(flavor, adding("db", "one", "row"));
            let live = harness.start(app).await?;
            for id in ["7", "8"] {
                let text = live.get(&format!("/it/{id}")).await?.text();
                assert_eq!(text, format!("\"{id}\" row"), "{flavor}, called from {form}");
            }
            live.ends_without_a_crash().await?;
        }
    }
    Ok(())
}

async fn a_call_waits_for_its_listener(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let gate = Gate::new();
        let slow = Channel::new("db").on("slow", Program::new().call("app:gate").say(" at last"));
        let live = harness
            .start(calling("db:slow").channel(flavor, slow).gate("gate", &gate))
            .await?;
        let client = *live;
        let asked = tokio::spawn(async move { client.get("/it/7").await });
        gate.arrived(1).await?;
        assert!(!asked.is_finished(), "{flavor}: the reply did not wait");
        gate.open();
        assert_eq!(asked.await??.text(), "\"7\" at last", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_native_handler_calls_as_a_guest_does(harness: Harness) -> Result<()> {
    let ask = |context: Context| async move {
        let event = context.param("event").unwrap_or_default();
        let result = context.call_raw(event, Payload::json("asked")?).await?;
        Ok::<Vec<u8>, Failure>(result.into_data())
    };
    for flavor in Flavor::ALL {
        let channel = Channel::new("db")
            .on("one", adds("row"))
            .on("none", Program::new().say(" is missing").fails("no-such-row", 404));
        let app = AppSpec::new()
            .register("GET", "/it/:event", ask)
            .channel(flavor, channel);
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it/db:one").await?.text(), "\"asked\" row", "{flavor}");
        let missing = live.get("/it/db:none").await?;
        assert_eq!(
            (missing.status, missing.message().as_deref()),
            (404, Some("\"asked\" is missing")),
            "{flavor}: a failure ends the request with its status"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn the_first_part_names_the_channel(harness: Harness) -> Result<()> {
    for (flavor, other) in pairs() {
        let app = calling("db:product:all")
            .channel(flavor, adding("db", "product:all", "right"))
            .channel(other, adding("other", "product:all", "wrong"));
        let live = harness.start(app).await?;
        assert_eq!(
            live.get("/it/7").await?.text(),
            "\"7\" right",
            "{flavor}, other {other}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_name_without_a_channel_is_a_plain_event(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        for event in ["all", "product:all"] {
            let app = calling(event).channel(flavor, adding("db", event, "plain"));
            let live = harness.start(app).await?;
            assert_eq!(live.get("/it/7").await?.text(), "\"7\" plain", "{flavor}: {event}");
            live.shutdown().await;
        }
    }
    Ok(())
}

async fn a_plain_name_of_two_channels_is_ambiguous(harness: Harness) -> Result<()> {
    for (flavor, other) in pairs() {
        let app = calling("all")
            .channel(flavor, adding("one", "all", "1"))
            .channel(other, adding("two", "all", "2"));
        let live = harness.start(app).await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed ambiguous-event"), "{flavor}, {other}: {text}");
        assert!(text.contains("`one:all`") && text.contains("`two:all`"), "{text}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_name_with_two_readings_is_ambiguous(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // Modules that are loaded before the host's own channel.
        let app = calling("product:viewed")
            .channel(flavor, adding("db", "product:viewed", "db"))
            .channel(Flavor::Native, adding("product", "viewed", "product"));
        let live = harness.start(app).await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed ambiguous-event"), "{flavor}: {text}");
        assert!(
            text.contains("`product:viewed`") && text.contains("`db:product:viewed`"),
            "{text}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn an_unknown_event_names_the_nearest(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let app = calling("db:product:al").channel(flavor, adding("db", "product:all", "row"));
        let live = harness.start(app).await?;
        let text = live.get("/it/7").await?.text();
        assert!(text.starts_with("failed unknown-event"), "{flavor}: {text}");
        assert!(
            text.contains("`db:product:al`") && text.contains("`db:product:all`"),
            "{flavor}: {text}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn emitting_an_unknown_event_is_logged(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // Cases run concurrently and share one log, so the names must be unique to this case, flavor and adapter.
        let event = format!("emitting_an_unknown_event:is_logged_{flavor:?}_{}", harness.subject());
        let again = format!("{event}_by_a_listener");
        let program = Program::new().emit(&event).call("db:emits").say(" went on");
        let channel = Channel::new("db").on("emits", Program::new().emit(&again));
        let live = harness
            .start(routing(Flavor::Module, "it", program).channel(flavor, channel))
            .await?;
        assert_eq!(live.get("/it").await?.text(), "null went on", "{flavor}");
        for event in [event, again] {
            harness.logs().containing(&format!("`{event}`"), 1).await?;
        }
        assert_eq!(live.control().events_refused(), 2, "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_failure_of_the_listener_reaches_the_caller(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let program = Program::new().say(" is no row").fails("no-such-row", 404);
        let app = calling("db:one").channel(flavor, Channel::new("db").on("one", program));
        let live = harness.start(app).await?;
        assert_eq!(
            live.get("/it/7").await?.text(),
            "failed no-such-row: \"7\" is no row",
            "{flavor}"
        );
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_payload_of_the_wrong_type_is_a_decode_error(harness: Harness) -> Result<()> {
    let live = harness
        .start(calling("db:one").answers("db", "one", |payload| Ok(Payload::json(&payload.to::<u32>()?)?)))
        .await?;
    let text = live.get("/it/seven").await?.text();
    assert!(text.starts_with("failed bad-payload: "), "{text}");
    live.shutdown().await;
    Ok(())
}

async fn a_call_without_a_payload_is_null(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let app = routing(Flavor::Module, "it", Program::new().call("db:one"));
        let live = harness
            .start(app.channel(flavor, Channel::new("db").on("one", Program::new())))
            .await?;
        assert_eq!(live.get("/it").await?.text(), "null", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_payload_keeps_its_content_type(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        // The result contains the payload's content type, and has a content type of its own.
        let echoes = Program::new()
            .say(" ")
            .step(Step::PayloadType)
            .ends(End::Result("text/csv"));
        let asks = Program::text("a,b").step(Step::CallAs("db:echo".to_owned(), "text/x-rows"));
        let app = routing(Flavor::Module, "it", asks)
            .channel(flavor, Channel::new("db").on("echo", echoes))
            .register("GET", "/native", |context: Context| async move {
                let result = context.call_raw("db:echo", Payload::new("text/x-rows", "c,d")).await?;
                Ok::<_, Failure>(format!(
                    "{} {}",
                    result.content_type(),
                    String::from_utf8_lossy(result.data())
                ))
            });
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it").await?.text(), "a,b text/x-rows", "{flavor}");
        assert_eq!(
            live.get("/native").await?.text(),
            "text/csv c,d text/x-rows",
            "{flavor}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_listener_knows_its_event_and_the_request(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let tells = Program::new()
            .say(" ")
            .step(Step::EventName)
            .say(" ")
            .step(Step::RequestId);
        let app = calling("db:product:one").channel(flavor, Channel::new("db").on("product:one", tells));
        let live = harness.start(app).await?;
        let request = Request::new("GET", "/it/7").header("x-request-id", "abc-123");
        assert_eq!(
            live.send(request).await?.text(),
            "\"7\" product:one abc-123",
            "{flavor}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_call_brings_no_context(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let app = calling("db:one").channel(flavor, Channel::new("db").on("one", Program::new().take_context()));
        let live = harness.start(app).await?;
        assert_eq!(live.get("/it/7").await?.text(), "(none)", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

async fn one_channel_has_many_listeners(harness: Harness) -> Result<()> {
    for flavor in Flavor::ALL {
        let db = Channel::new("db").on("one", adds("1")).on("two", adds("2"));
        let program = Program::text("a").call("db:one").call("db:two").call("db:one");
        let live = harness
            .start(routing(Flavor::Module, "it", program).channel(flavor, db))
            .await?;
        assert_eq!(live.get("/it").await?.text(), "a 1 2 1", "{flavor}");
        live.shutdown().await;
    }
    Ok(())
}

/// The flavors of two channels.
fn pairs() -> [(Flavor, Flavor); 4] {
    [
        (Flavor::Native, Flavor::Native),
        (Flavor::Native, Flavor::Module),
        (Flavor::AsyncModule, Flavor::Native),
        (Flavor::Module, Flavor::AsyncModule),
    ]
}
