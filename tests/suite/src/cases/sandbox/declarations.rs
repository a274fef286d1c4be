//! The declarations of a component: their number and their names are bounded (spec A1, D10).

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};

use crate::case::{Harness, cases};
use crate::guest::{Channel, Controller, Flood, Guest, Program, with_module};
use crate::subject::AppSpec;

cases![
    host;
    a_manifest_past_the_limit_is_refused: A1, D10;
    a_flood_of_declarations_is_refused: A1, D10;
    long_names_are_not_repeated_in_errors: D10;
];

async fn a_manifest_past_the_limit_is_refused(harness: Harness) -> Result<()> {
    let options = |limit| ModuleOptions::new().limits(ModuleLimits::new().host_memory(limit));
    for (length, words) in [
        (60_000, ["module `suspect`", "the limit `host-memory` of 100000 bytes"]),
        (200_000, ["suspect", "over 100000 bytes, the limit `host-memory`"]),
    ] {
        let guest = Guest::new().metadata("description", &"x".repeat(length)).build();
        let app = |limit| AppSpec::new().load_with("suspect", guest.clone(), options(limit));
        let refusal = harness.refusal(app(100_000)).await?;
        for word in words {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
        let live = harness.start(app(1_000_000)).await?;
        let statuses = live.control().statuses();
        let kept = statuses[0].usage.host_memory;
        assert!(kept >= length as u64 && kept <= 1_000_000, "{kept}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_flood_of_declarations_is_refused(harness: Harness) -> Result<()> {
    for list in Flood::ALL {
        let things = Controller::new("", "").route("", None, &[""], Program::new()).takes("");
        let guest = Guest::with(things).channel(Channel::new("").on("", Program::new()));
        // The entries must be over the limit in the host, and fit in the memory of the guest.
        let times = match list {
            Flood::Events | Flood::Paths => 400_000,
            Flood::Listeners | Flood::Metadata => 200_000,
            Flood::Routes | Flood::Channels => 100_000,
            Flood::Controllers => 50_000,
        };
        let component = guest.uses("").metadata("", "").flood(list, times).build();
        assert!(component.len() < 1024 * 1024, "{list:?}: {} bytes", component.len());
        let refusal = harness.refusal(AppSpec::new().load("suspect", component)).await?;
        for word in ["suspect", "its manifest is over 8388608 bytes"] {
            assert!(refusal.contains(word), "{list:?}: `{word}` is not in: {refusal}");
        }
    }
    Ok(())
}

async fn long_names_are_not_repeated_in_errors(harness: Harness) -> Result<()> {
    let long = "n".repeat(100_000);
    let routes = (0..100).fold(Controller::new(&long, "/"), |things, number| {
        things.route(&format!("r{number}"), Some("NO METHOD"), &[], Program::new())
    });
    let listeners = (0..100).fold(Channel::new(&long), |channel, number| {
        channel.on(&number.to_string(), Program::new())
    });
    let event = Channel::new("db").on(&long, Program::new());
    let guests = [
        (Guest::with(routes), "the name has 100000 bytes"),
        (Guest::new().channel(listeners), "the name of a channel"),
        (Guest::new().channel(event), "the event of a listener"),
        (
            Guest::new().importing(&format!("{}:things/it@1.0.0", &long[..50_000])),
            "imports `nnn",
        ),
    ];
    for (guest, word) in guests {
        let refusal = harness.refusal(AppSpec::new().load("suspect", guest.build())).await?;
        assert!(refusal.contains(word), "`{word}` is not in: {refusal:.1000}");
        assert!(refusal.len() < 20_000, "{word}: {} bytes", refusal.len());
    }
    // The name of a function stands in each frame of a backtrace.
    let named = |length| {
        with_module(
            &Guest::new().build(),
            &format!("(module (func ${}))", "f".repeat(length)),
        )
    };
    let refusal = harness
        .refusal(AppSpec::new().load("suspect", named(64 * 1024 + 1)))
        .await?;
    for word in ["suspect", "the name of function 0 has 65537 bytes"] {
        assert!(refusal.contains(word), "`{word}` is not in: {refusal:.1000}");
    }
    harness
        .start(AppSpec::new().load("fits", named(64 * 1024)))
        .await?
        .shutdown()
        .await;
    Ok(())
}
