//! Changes that are refused: the old version keeps serving, and `server:refused` has the reason (spec S2).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{ModuleLimits, ModuleOptions};

use super::{SHOP, guest_of_version, serves, status, version};
use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{
    Channel, Controller, Discovery, End, Guest, Program, core_module, foreign_component, laden, of_world,
    truncated_component, with_instances,
};
use crate::subject::{AppSpec, Limits, Step};

cases![
    host;
    a_component_that_is_no_module_is_refused_and_the_old_one_serves: S2;
    a_module_in_conflict_is_refused_and_the_old_one_serves: S2, P7;
    a_module_that_fails_its_probe_is_refused_and_the_old_one_serves: S2;
    a_module_that_is_not_well_is_refused_and_the_old_one_serves: S2;
    a_component_of_another_digest_is_refused_and_the_old_one_serves: S2 in hosts;
    a_component_over_the_size_is_refused_and_the_old_one_serves: S2;
    a_component_of_too_many_instances_memories_or_tables_is_refused_with_both_numbers: S2;
    a_refused_load_is_told_too: S2 in hosts;
];

/// A component with options that the host refuses, and a word of the reason.
type Refused = (Arc<[u8]>, ModuleOptions, &'static str);

/// Starts version `a` and checks that each change is refused with its reason.
async fn all_are_refused(harness: &Harness, form: Flavor, app: AppSpec, all: Vec<Refused>) -> Result<()> {
    let live = harness.start(app.load(SHOP, version(form, "a"))).await?;
    let before = status(&live)?;
    let routes = live.routes();
    for (number, (component, options, word)) in (1..).zip(all) {
        is_refused(&live, number, component, options, word)
            .await
            .with_context(|| format!("{form}: refusal {number}, with `{word}`"))?;
        serves(&live, "a", "b").await?;
        let now = status(&live)?;
        assert_eq!(
            (&now.info.digest, now.since),
            (&before.info.digest, before.since),
            "{form}"
        );
        assert_eq!(now.previous, None, "{form}: nothing to roll back to");
        assert_eq!(live.routes(), routes, "{form}");
    }
    // Events of two names may arrive in any order.
    live.changes()
        .expect("the load", |change| change.module == SHOP)
        .await?;
    let changes = live.changes().all();
    let of_shop = changes.iter().filter(|change| change.module == SHOP);
    assert_eq!(of_shop.count(), 1, "{form}: nothing but the load was told");
    live.shutdown().await;
    Ok(())
}

async fn is_refused(
    live: &Live,
    number: usize,
    component: Arc<[u8]>,
    options: ModuleOptions,
    word: &str,
) -> Result<()> {
    let step = Step::SwapWith(SHOP.to_owned(), component, options.into());
    let refusal = live
        .control()
        .apply(step)
        .await
        .err()
        .context("the swap was not refused")?;
    for part in [SHOP, word] {
        assert!(refusal.text().contains(part), "`{part}` is not in: {refusal}");
    }
    let refusals = live.refusals();
    refusals
        .expect("the refusal", |_| refusals.all().len() >= number)
        .await?;
    let all = refusals.all();
    assert_eq!(all.len(), number, "one event for each refusal: {all:#?}");
    let told = &all[number - 1];
    assert_eq!(told.module, SHOP);
    assert!(told.reason.contains(word), "`{word}` is not in: {}", told.reason);
    assert!(told.digest.is_some(), "the component has a digest");
    Ok(())
}

fn plain(component: impl Into<Arc<[u8]>>, word: &'static str) -> Refused {
    (component.into(), ModuleOptions::new(), word)
}

/// Version `b` with one fault.
fn wrong(form: Flavor, wrong: impl FnOnce(Guest) -> Guest) -> Vec<u8> {
    let things = Controller::new("Things", "/")
        .get("kept", Program::text("b"))
        .get("only-b", Program::text("b"));
    form.form(wrong(Guest::with(things))).build()
}

async fn a_component_that_is_no_module_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let whole = version(form, "b");
        let all = vec![
            plain(&b"Dear Sir or Madam"[..], "component"),
            plain(&b""[..], "component"),
            plain(core_module(), "core module"),
            plain(foreign_component(), "pointwork:module"),
            plain(truncated_component(&whole)?, "export"),
            plain(&whole[..whole.len() - 10], ""),
            plain(wrong(form, |guest| guest.contract_version("9.0.0")), "9.0.0"),
            plain(
                wrong(form, |guest| guest.importing("wasi:filesystem/types@0.2.6")),
                "wasi:filesystem",
            ),
        ];
        all_are_refused(&harness, form, AppSpec::new(), all).await?;
    }
    Ok(())
}

async fn a_module_in_conflict_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let with = |method: &'static str, path: &'static str| {
            let more = Controller::new("More", "/").route("more", Some(method), &[path], Program::new());
            wrong(form, |guest| guest.controller(more))
        };
        let listening = |channel: &str| {
            wrong(form, |guest| {
                guest.channel(Channel::new(channel).on("one", Program::new()))
            })
        };
        let all = vec![
            plain(with("GET", "manual/:other"), "/manual/:id"),
            plain(with("GET", "kept"), "/kept"),
            plain(with("GET", "theirs"), "neighbour"),
            plain(with("G E T", "more"), "G E T"),
            plain(with("GET", "a/*rest/more"), "a/*rest/more"),
            plain(listening("taken"), "taken"),
            plain(listening(""), "channel"),
        ];
        let neighbour = Guest::with(Controller::new("Theirs", "/").get("theirs", Program::text("theirs")));
        let app = AppSpec::new()
            .register("GET", "/manual/:id", |_| async { "manual" })
            .load("neighbour", neighbour.build())
            .channel(Flavor::Native, Channel::new("taken").on("one", Program::new()));
        all_are_refused(&harness, form, app, all).await?;
    }
    Ok(())
}

async fn a_module_that_fails_its_probe_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let limits = ModuleLimits::new().probe(Duration::from_millis(200));
        let loops = wrong(form, |guest| guest.discovery(Discovery::Loops));
        let all = vec![
            plain(wrong(form, |guest| guest.discovery(Discovery::Traps)), "describe"),
            (loops.into(), ModuleOptions::new().limits(limits), ""),
        ];
        all_are_refused(&harness, form, AppSpec::new(), all).await?;
    }
    Ok(())
}

async fn a_module_that_is_not_well_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let health = |program: Program| {
            let more = Controller::new("Health", "/").get("health", program);
            let sick = wrong(form, |guest| guest.controller(more));
            (sick.into(), ModuleOptions::new().health("/health"), "/health")
        };
        let all = vec![
            health(Program::text("not yet").status(503)),
            health(Program::new().ends(End::Throw(500))),
            health(Program::new().ends(End::Trap)),
            health(Program::new().ends(End::Deferred)),
            // A health route that does not exist.
            (version(form, "b"), ModuleOptions::new().health("/health"), "/health"),
        ];
        all_are_refused(&harness, form, AppSpec::new(), all).await?;
    }
    let live = harness
        .start(AppSpec::new().load(SHOP, version(Flavor::Module, "a")))
        .await?;
    let well = Step::SwapWith(
        SHOP.to_owned(),
        version(Flavor::Module, "b"),
        ModuleOptions::new().health("/kept").into(),
    );
    live.control().apply(well).await?;
    serves(&live, "b", "a").await?;
    let refusals = live.refusals().clone();
    live.ends_without_a_crash().await?;
    refusals.expect_none()
}

async fn a_component_of_another_digest_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    let form = Flavor::Module;
    // Every byte is valid, but the configured digest does not match.
    let all = vec![
        (
            version(form, "b"),
            ModuleOptions::new().digest("0".repeat(64)),
            "SHA-256",
        ),
        (version(form, "b"), ModuleOptions::new().digest("no digest"), "SHA-256"),
    ];
    all_are_refused(&harness, form, AppSpec::new(), all).await
}

async fn a_component_over_the_size_is_refused_and_the_old_one_serves(harness: Harness) -> Result<()> {
    let form = Flavor::Module;
    let large = laden(&version(form, "b"), 10, 4_000);
    let limits = Limits {
        component: Some(large.len() - 1),
        ..Limits::default()
    };
    let all = vec![plain(large, "bytes")];
    all_are_refused(&harness, form, AppSpec::new().limits(limits), all).await
}

async fn a_component_of_too_many_instances_memories_or_tables_is_refused_with_both_numbers(
    harness: Harness,
) -> Result<()> {
    for form in Flavor::MODULES {
        let whole: Arc<[u8]> = guest_of_version(form, "b").build().into();
        // Such a component is compiled before it is refused: this one is the smallest.
        let small = of_world(&format!("include {};", form.world()), |contract| contract);
        let all = vec![
            plain(
                with_instances(&small, "(module)", 61),
                "65 core module instances, which exceeds the configured maximum of 64",
            ),
            plain(
                with_instances(&small, "(module (memory 1))", 8),
                "9 Wasm linear memories, which exceeds the configured maximum of 8",
            ),
            plain(
                with_instances(&small, "(module (table 1 funcref))", 16),
                "17 tables, which exceeds the configured maximum of 16",
            ),
        ];
        all_are_refused(&harness, form, AppSpec::new(), all).await?;
        let most = with_instances(&whole, "(module)", 59);
        let live = harness.start(AppSpec::new().load(SHOP, most)).await?;
        serves(&live, "b", "a").await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn a_refused_load_is_told_too(harness: Harness) -> Result<()> {
    let live = harness
        .start(AppSpec::new().load(SHOP, version(Flavor::Module, "a")))
        .await?;
    let rival = Step::Load("rival".to_owned(), version(Flavor::Module, "b"));
    assert!(live.control().apply(rival).await.is_err(), "both have `/kept`");
    let told = live
        .refusals()
        .expect("the load", |refusal| refusal.module == "rival")
        .await?;
    assert!(told.reason.contains("/kept"), "{}", told.reason);
    serves(&live, "a", "b").await?;
    assert_eq!(live.control().statuses().len(), 1);
    live.shutdown().await;
    Ok(())
}
