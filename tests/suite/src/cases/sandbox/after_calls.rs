//! Code of an asynchronous module that goes on after its call has ended, and what calls of an instance share (spec A1, E1, H11).

use std::time::Duration;

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{CrashKind, Delivery, Payload};
use pointwork_test_clock::real::until;
use tracing::Level;

use super::watch::Gate;
use crate::case::{Harness, Live, cases};
use crate::fixtures::Fixture;
use crate::languages::expect_locks_between_calls;
use crate::subject::AppSpec;

cases![
    host;
    code_after_its_call_has_the_processor_time_of_a_call [RustAsync]: A1;
    code_after_calls_continues_no_line_of_another_call [RustAsync]: H11;
    a_crash_after_its_call_is_reported [RustAsync]: E1;
    what_ended_calls_did_not_print_is_no_budget_of_later_ones [RustAsync]: A1, H11;
    a_mutex_is_held_by_a_request_while_another_one_waits_for_it [RustAsync]: H1 of sdk;
];

/// An asynchronous module of that name, whose code waits at the gate.
async fn start(harness: &Harness, name: &str, gate: &Gate, limits: ModuleLimits) -> Result<Live> {
    let pass = gate.clone();
    let options = ModuleOptions::new().limits(limits);
    let app = AppSpec::new()
        .load_with(name, harness.fixture(Fixture::RustAsync).await?, options)
        .listen("clock", "wait", move |_: Delivery, _: Payload| {
            let pass = pass.clone();
            async move {
                pass.pass().await;
                Ok(Payload::null())
            }
        });
    Ok(harness.start(app).await?)
}

/// The number of instances, which nothing but the case makes idle.
fn instances(live: &Live) -> usize {
    live.control()
        .statuses()
        .iter()
        .map(|status| status.usage.instances)
        .sum()
}

async fn code_after_its_call_has_the_processor_time_of_a_call(harness: Harness) -> Result<()> {
    let (name, gate) = ("yields-after", Gate::new());
    let limits = ModuleLimits::new().cpu(Duration::from_millis(100));
    let live = start(&harness, name, &gate, limits).await?;
    assert_eq!(live.get("/after/yields").await?.text(), "begun");
    until("the instance is gone", || instances(&live) == 0).await?;
    // Beside a call that waits in the same instance.
    let client = *live;
    let waiting = tokio::spawn(async move { client.get("/waits/1").await });
    gate.arrived(1).await?;
    assert_eq!(live.get("/after/yields").await?.text(), "begun");
    let retired = "an instance was retired: code that went on after its calls used 100ms (`cpu`)";
    let lines = harness.logs().containing(retired, 2).await?;
    assert!(lines.iter().all(|line| line.level == Level::WARN));
    assert_eq!(
        live.get("/health").await?.status,
        200,
        "a new instance serves the next call"
    );
    gate.open();
    assert_eq!(waiting.await??.text(), "waited");
    until("the new instance is left", || instances(&live) == 1).await?;
    assert_eq!(harness.logs().containing(retired, 2).await?.len(), 2);
    live.ends_without_a_crash().await
}

async fn code_after_calls_continues_no_line_of_another_call(harness: Harness) -> Result<()> {
    let (name, gate) = ("prints-after", Gate::new());
    // Both in one instance, whose lines could mix.
    let live = start(&harness, name, &gate, ModuleLimits::new().instances(1)).await?;
    for name in ["one", "two"] {
        assert_eq!(live.get(&format!("/after/prints/{name}")).await?.text(), "begun");
    }
    gate.arrived(2).await?;
    gate.open();
    let of_module = format!(" module={name} from=stdout");
    let lines = || -> Vec<String> {
        let lines = harness.logs().everywhere().into_iter();
        let texts = lines.filter_map(|line| Some(line.text.split_once(&of_module)?.0.to_owned()));
        texts.collect()
    };
    let rests = || lines().iter().filter(|line| line.contains("rest of")).count();
    until("both have printed the rest", || rests() == 2).await?;
    // The half of a line is a line of its own, unless its own code was the next to print.
    for name in ["one", "two"] {
        let of_name: String = lines().into_iter().filter(|line| line.contains(name)).collect();
        assert_eq!(of_name, format!("half of {name}, rest of {name}"));
    }
    live.ends_without_a_crash().await
}

async fn a_crash_after_its_call_is_reported(harness: Harness) -> Result<()> {
    let gate = Gate::new();
    let live = start(&harness, "panics-after", &gate, ModuleLimits::new()).await?;
    assert_eq!(live.get("/after/panics").await?.text(), "begun");
    gate.arrived(1).await?;
    gate.open();
    let is_it = |text: &str| text.contains("code panics after its call");
    let crash = live
        .crashes()
        .expect("the panic", |crash| is_it(&crash.message))
        .await?;
    assert_eq!(crash.kind, CrashKind::Trap);
    assert_eq!((crash.module.as_deref(), crash.route), (Some("panics-after"), None));
    let lines = harness.logs().containing("code panics after its call", 1).await?;
    assert_eq!(
        lines.iter().filter(|line| line.level == Level::ERROR).count(),
        1,
        "{lines:#?}"
    );
    assert_eq!(live.get("/health").await?.status, 200);
    live.shutdown().await;
    Ok(())
}

async fn what_ended_calls_did_not_print_is_no_budget_of_later_ones(harness: Harness) -> Result<()> {
    let name = "lines-of-many";
    let limits = ModuleLimits::new().log_lines(3);
    let live = start(&harness, name, &Gate::new(), limits).await?;
    for _ in 0..5 {
        assert_eq!(live.get("/health").await?.status, 200);
    }
    assert_eq!(live.get("/shares/lines/10").await?.text(), "printed");
    let of_module = format!(" module={name}");
    let dropped = "`log-lines` of 3 lines was hit: lines are dropped";
    let dropped = harness.logs().containing(dropped, 1).await?;
    assert!(dropped.iter().any(|line| line.text.contains(&of_module)));
    let lines = harness
        .logs()
        .containing(&format!("one of many{of_module} "), 3)
        .await?;
    assert_eq!(lines.len(), 3, "{lines:#?}");
    live.ends_without_a_crash().await
}

async fn a_mutex_is_held_by_a_request_while_another_one_waits_for_it(harness: Harness) -> Result<()> {
    let gate = Gate::new();
    let live = start(&harness, "mutex", &gate, ModuleLimits::new().instances(1)).await?;
    expect_locks_between_calls();
    let client = *live;
    let ask = || tokio::spawn(async move { client.get("/shares/mutex/1").await });
    let held = ask();
    gate.arrived(1).await?;
    let waits = ask();
    until("both are there", || live.control().requests_in_flight() == 2).await?;
    // The second one is in the instance, too, once a later request is answered.
    assert_eq!(live.get("/health").await?.status, 200);
    gate.open();
    for reply in [held, waits] {
        assert_eq!(reply.await??.text(), "held");
    }
    live.ends_without_a_crash().await
}
