//! Requests in flight while a module is swapped (spec S1): none fails, and no answer mixes two versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Result, ensure};
use pointwork_test_clock::real::until;
use tokio::task::JoinHandle;

use super::{SHOP, serves, swap, version, watch};
use crate::case::{Harness, cases};
use crate::client::{Client, Response};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step as Does, laden};
use crate::subject::AppSpec;

cases![
    adapter;
    swaps_under_load_fail_no_request_and_mix_no_versions: S1 in hosts;
    a_request_in_flight_ends_on_its_version_and_the_next_sees_the_new_one: S1;
    serving_goes_on_while_a_component_is_compiled: S1 of host;
];

/// The number of swaps.
const SWAPS: u32 = 12;

/// The lowest number of requests that are answered between the publication of one version and the next swap.
const BETWEEN: u32 = 4;

/// Version `number`: every version has `/kept` and `/stream`, an even one `/even`, an odd one `/odd`.
fn numbered(form: Flavor, number: u32) -> Arc<[u8]> {
    let word = number.to_string();
    let chunks = vec![format!("{word} "); 4];
    let stream = Program::new().step(Does::Stream(200, chunks)).step(Does::Finish);
    let things = Controller::new("Things", "/")
        .get("kept", Program::text(&word).header("x-version", &word))
        .get("stream", stream.ends(End::Deferred))
        .get(["even", "odd"][number as usize % 2], Program::text(&word));
    form.form(Guest::with(things)).build().into()
}

/// The progress of the swaps. A version between `done`, read when a request begins, and `begun`, read when it ends,
/// answers that request.
#[derive(Default)]
struct Progress {
    begun: AtomicU32,
    done: AtomicU32,
    answered: AtomicU32,
    over: AtomicBool,
}

impl Progress {
    /// Waits until that many more requests are answered, or a client task has ended.
    async fn answers(&self, count: u32, asking: &[JoinHandle<Result<()>>]) -> Result<()> {
        let enough = self.answered.load(Ordering::SeqCst) + count;
        until("more requests are answered", || {
            self.answered.load(Ordering::SeqCst) >= enough || asking.iter().any(JoinHandle::is_finished)
        })
        .await
    }
}

/// Requests every route in turn until the load is over, and checks each answer.
async fn asks(client: Client, progress: Arc<Progress>) -> Result<()> {
    while !progress.over.load(Ordering::SeqCst) {
        for path in ["/kept", "/even", "/odd", "/stream"] {
            let from = progress.done.load(Ordering::SeqCst);
            let reply = client.get(path).await?;
            let to = progress.begun.load(Ordering::SeqCst);
            judge(path, &reply, from, to)?;
            progress.answered.fetch_add(1, Ordering::SeqCst);
        }
    }
    Ok(())
}

fn judge(path: &str, reply: &Response, from: u32, to: u32) -> Result<()> {
    let told = format!("{path} between {from} and {to}: {} `{}`", reply.status, reply.text());
    let has_it = |version: u32| match path {
        "/even" => version.is_multiple_of(2),
        "/odd" => !version.is_multiple_of(2),
        _ => true,
    };
    if reply.status == 404 {
        ensure!((from..=to).any(|version| !has_it(version)), "{told}");
        return Ok(());
    }
    ensure!(reply.status == 200, "{told}");
    let text = reply.text();
    let mut words = text.split_whitespace();
    let version: u32 = words.next().unwrap_or_default().parse()?;
    ensure!(
        words.all(|word| word == version.to_string()),
        "a mix of versions: {told}"
    );
    ensure!(
        path != "/kept" || reply.header("x-version") == Some(version.to_string()),
        "a header of another version: {told}"
    );
    ensure!((from..=to).contains(&version) && has_it(version), "{told}");
    Ok(())
}

async fn swaps_under_load_fail_no_request_and_mix_no_versions(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load(SHOP, numbered(form, 0))).await?;
        let progress = Arc::<Progress>::default();
        let asking: Vec<_> = (0..4).map(|_| tokio::spawn(asks(*live, progress.clone()))).collect();
        progress.answers(BETWEEN, &asking).await?;
        for number in 1..=SWAPS {
            progress.begun.store(number, Ordering::SeqCst);
            live.control().apply(swap(numbered(form, number))).await?;
            progress.done.store(number, Ordering::SeqCst);
            progress.answers(BETWEEN, &asking).await?;
        }
        progress.over.store(true, Ordering::SeqCst);
        for asking in asking {
            asking.await??;
        }
        let answered = progress.answered.load(Ordering::SeqCst);
        assert!(
            answered >= BETWEEN * (SWAPS + 1),
            "{form}: {answered} requests are no load"
        );
        let refusals = live.refusals().clone();
        live.ends_without_a_crash().await?;
        refusals.expect_none()?;
    }
    Ok(())
}

async fn a_request_in_flight_ends_on_its_version_and_the_next_sees_the_new_one(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let gate = watch::Gate::new();
        // The text contains the gate's result.
        let waits = Program::new().call("app:gate").say(" a");
        let things = Controller::new("Things", "/")
            .get("kept", waits.clone())
            .get("gone", waits);
        let app = AppSpec::new()
            .load(SHOP, form.form(Guest::with(things)).build())
            .gate("gate", &gate);
        let live = harness.start(app).await?;
        let client = *live;
        let held = ["/kept", "/gone"].map(|path| tokio::spawn(async move { client.get(path).await }));
        gate.arrived(2).await?;
        live.control().apply(swap(version(form, "b"))).await?;
        serves(&live, "b", "a").await?;
        assert_eq!(live.get("/gone").await?.status, 404, "{form}");
        let draining = super::status(&live)?.draining;
        let in_flight: Vec<_> = draining.iter().map(|old| old.in_flight).collect();
        assert_eq!(in_flight, [2], "{form}: the old version has both");
        gate.open();
        for held in held {
            let reply = held.await??;
            assert_eq!((reply.status, reply.text().as_str()), (200, "null a"), "{form}");
        }
        until("the old version is freed", || {
            super::status(&live).is_ok_and(|status| status.draining.is_empty())
        })
        .await?;
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn serving_goes_on_while_a_component_is_compiled(harness: Harness) -> Result<()> {
    let form = Flavor::Module;
    let live = harness.start(AppSpec::new().load(SHOP, version(form, "a"))).await?;
    let heavy = laden(&version(form, "b"), 60, 200);
    let swapping = live.control().apply(swap(heavy.into()));
    let serving = async {
        // Until the swap ends, either version may answer, and each answer is whole.
        let mut of_the_old = 0;
        loop {
            let reply = live.get("/kept").await?;
            ensure!(reply.status == 200 && matches!(reply.text().as_str(), "a" | "b"));
            if reply.text() == "b" {
                return Ok(of_the_old);
            }
            of_the_old += 1;
        }
    };
    let (swapped, served) = tokio::join!(swapping, serving);
    swapped?;
    // The first may come before the compiler begins.
    let served = served?;
    ensure!(
        served > 1,
        "{served} requests were answered while the component was compiled"
    );
    serves(&live, "b", "a").await?;
    live.shutdown().await;
    Ok(())
}
