//! Channel modules that are loaded, swapped and removed while the application serves (spec C1, C3).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Result;
use pointwork_test_clock::real::until;

use super::watch::Gate;
use super::{adding, adds, calling, emitting};
use crate::case::{Harness, Live, cases};
use crate::client::ClientError;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program};
use crate::subject::Step;

cases![
    host;
    listeners_and_routes_come_change_and_go_together: C1, C3, M5;
    a_refused_swap_keeps_the_old_listeners: C1, C3;
    a_call_ends_on_the_module_that_it_began_on: C3, H3;
    emitted_events_keep_their_listener_and_order_across_a_swap: C3, H3;
    a_removed_channel_is_free_for_another_owner: C1, C3;
    callers_see_one_version_or_the_other: C3, H3;
];

/// The lowest number of repeated calls that each version answers.
const BETWEEN: usize = 3;

/// A module with the route `/version` and the listener `db:one`, which both return the version, and with more
/// listeners.
fn version(form: Flavor, version: &str, more: Channel) -> Arc<[u8]> {
    let things = Controller::new("Things", "/").get("version", Program::text(version));
    let guest = Guest::with(things).channel(adding("db", "one", version)).channel(more);
    form.form(guest).build().into()
}

async fn sees(live: &Live, form: Flavor, listener: &str, route: (u16, &str)) -> Result<()> {
    assert_eq!(live.get("/it/7").await?.text(), format!("\"7\" {listener}"), "{form}");
    let reply = live.get("/version").await?;
    assert_eq!((reply.status, reply.text().as_str()), route, "{form}");
    Ok(())
}

async fn is_unknown(live: &Live, form: Flavor) -> Result<()> {
    let text = live.get("/it/7").await?.text();
    assert!(text.starts_with("failed unknown-event"), "{form}: {text}");
    assert_eq!(live.get("/version").await?.status, 404, "{form}");
    Ok(())
}

async fn listeners_and_routes_come_change_and_go_together(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(calling("db:one")).await?;
        let control = live.control();
        is_unknown(&live, form).await?;
        let first = version(form, "1", adding("old", "x", "old"));
        control.apply(Step::Load("shop".to_owned(), first)).await?;
        sees(&live, form, "1", (200, "1")).await?;
        assert_eq!(control.route_count(), 2, "{form}");
        // The other form has another engine; callers see no difference.
        for (name, other) in [("2", Flavor::AsyncModule), ("3", Flavor::Module)] {
            let next = version(other, name, adding("new", "x", "new"));
            control.apply(Step::Swap("shop".to_owned(), next)).await?;
            sees(&live, form, name, (200, name)).await?;
        }
        // The events of the first version are free again, those of the third are taken.
        let old = Guest::new().channel(adding("old", "x", "elsewhere")).build().into();
        control.apply(Step::Load("elsewhere".to_owned(), old)).await?;
        let new = Guest::new().channel(adding("new", "x", "elsewhere")).build().into();
        assert!(
            control.apply(Step::Load("rival".to_owned(), new)).await.is_err(),
            "{form}"
        );
        control.apply(Step::Remove("shop".to_owned())).await?;
        is_unknown(&live, form).await?;
        assert_eq!(control.route_count(), 1, "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_refused_swap_keeps_the_old_listeners(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let app = calling("db:one")
            .load("shop", version(form, "old", adding("a", "x", "a")))
            .channel(Flavor::Native, adding("taken", "x", "native"));
        let live = harness.start(app).await?;
        let conflicts = Controller::new("Things", "/").get("it/:other", Program::text("new"));
        let refused: [Arc<[u8]>; 4] = [
            version(form, "new", adding("taken", "x", "new")),
            version(form, "new", adding("", "x", "new")),
            form.form(Guest::with(conflicts).channel(adding("db", "one", "new")))
                .build()
                .into(),
            b"no component"[..].into(),
        ];
        for component in refused {
            assert!(
                live.control()
                    .apply(Step::Swap("shop".to_owned(), component))
                    .await
                    .is_err()
            );
            sees(&live, form, "old", (200, "old")).await?;
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_call_ends_on_the_module_that_it_began_on(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let slow = |word: &str| {
            let program = Program::new().call("app:gate").say(" ").say(word);
            form.form(Guest::new().channel(Channel::new("db").on("one", program)))
        };
        let app = calling("db:one").load("db", slow("old").build()).gate("gate", &gate);
        let live = harness.start(app).await?;
        let client = *live;
        let ask = || tokio::spawn(async move { client.get("/it/7").await });
        let first = ask();
        gate.arrived(1).await?;
        live.control()
            .apply(Step::Swap("db".to_owned(), slow("new").build().into()))
            .await?;
        let second = ask();
        gate.arrived(1).await?;
        live.control().apply(Step::Remove("db".to_owned())).await?;
        gate.open();
        assert_eq!(first.await??.text(), "\"7\" old", "{form}");
        assert_eq!(second.await??.text(), "\"7\" new", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn emitted_events_keep_their_listener_and_order_across_a_swap(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = Gate::new();
        let log = |word: &str| {
            let program = Program::new().call("app:gate").say(" ").say(word).call("app:seen");
            form.form(Guest::new().channel(Channel::new("log").on("line", program)))
                .build()
        };
        let app = emitting("log:line").load("log", log("old")).gate("gate", &gate);
        let (app, mut seen) = app.hearing("seen");
        let live = harness.start(app).await?;
        live.get("/it/1").await?;
        live.get("/it/2").await?;
        gate.arrived(1).await?;
        live.control()
            .apply(Step::Swap("log".to_owned(), log("new").into()))
            .await?;
        live.get("/it/3").await?;
        live.control().apply(Step::Remove("log".to_owned())).await?;
        gate.open();
        for expected in ["\"1\" old", "\"2\" old", "\"3\" new"] {
            assert_eq!(seen.next().await?, expected, "{form}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_removed_channel_is_free_for_another_owner(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness
            .start(calling("db:one").channel(form, adding("db", "one", "module")))
            .await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"7\" module", "{form}");
        live.control().apply(Step::Remove("db-module".to_owned())).await?;
        let other = form
            .form(Guest::new().channel(adding("db", "one", "other")))
            .build()
            .into();
        live.control().apply(Step::Load("other".to_owned(), other)).await?;
        assert_eq!(live.get("/it/7").await?.text(), "\"7\" other", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn callers_see_one_version_or_the_other(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let of = |word: &str| {
            form.form(Guest::new().channel(Channel::new("db").on("one", adds(word))))
                .build()
        };
        let live = harness.start(calling("db:one").load("db", of("0"))).await?;
        let client = *live;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let answered = Arc::new(AtomicUsize::new(0));
        let counts = answered.clone();
        let asking = tokio::spawn(async move {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.push(client.get("/it/7").await?.text());
                counts.store(seen.len(), Ordering::SeqCst);
            }
            Ok::<_, ClientError>(seen)
        });
        let more = async || {
            let enough = answered.load(Ordering::SeqCst) + BETWEEN;
            let is_so = || answered.load(Ordering::SeqCst) >= enough || asking.is_finished();
            until("more calls are answered", is_so).await
        };
        more().await?;
        for word in ["1", "2", "3", "4"] {
            live.control()
                .apply(Step::Swap("db".to_owned(), of(word).into()))
                .await?;
            assert_eq!(live.get("/it/7").await?.text(), format!("\"7\" {word}"), "{form}");
            more().await?;
        }
        over.store(true, Ordering::Relaxed);
        let seen = asking.await??;
        assert!(seen.len() >= BETWEEN * 5, "{form}: {} calls are no load", seen.len());
        let versions: Vec<_> = (0..5).map(|version| format!("\"7\" {version}")).collect();
        assert!(seen.iter().all(|text| versions.contains(text)), "{form}: {seen:?}");
        assert!(seen.is_sorted(), "{form}: an old version came back: {seen:?}");
        live.shutdown().await;
    }
    Ok(())
}
