//! What a program needs around it: time, random numbers, output, and the id of an event (spec H10, H11, C6). The variables are in
//! `variables.rs`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use pointwork_test_clock::real::until;
use serde_json::json;
use tracing::Level;

use crate::case::{Harness, cases};
use crate::client::Request;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::logs::Line;
use crate::subject::{AppSpec, ModuleSettings};

cases![
    sdk;
    the_time_of_a_call_is_the_arrival_of_its_request: H10;
    the_time_of_a_listener_is_the_arrival_of_its_event: H10;
    random_numbers_differ: H10;
    outside_of_a_call_there_is_neither_time_nor_chance: H10, H11, V2;
    a_printed_line_ends_with_its_call: H11;
    a_printed_line_ends_at_8_kib: H11;
    a_call_that_traps_has_printed: H11;
    an_event_has_an_id_and_an_attempt: C6;
];

/// The routes of a module of that form.
fn module(form: Flavor, name: &str, routes: impl FnOnce(Controller) -> Controller) -> AppSpec {
    let guest = Guest::with(routes(Controller::new("Things", "/")));
    AppSpec::new().load(name, form.form(guest).build())
}

/// A time of the environment, as [`Step::Now`] says it.
fn time(text: &str) -> Result<(u64, u32)> {
    let (seconds, nanoseconds) = text.split_once(' ').context("expected seconds and nanoseconds")?;
    Ok((seconds.parse()?, nanoseconds.parse()?))
}

fn now() -> Result<(u64, u32)> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok((since.as_secs(), since.subsec_nanos()))
}

/// The clock of a language may tell no less: the time of a request is after what was before.
#[expect(clippy::disallowed_methods, reason = "the wall clock passes in real time")]
async fn a_millisecond() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn the_time_of_a_call_is_the_arrival_of_its_request(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let tells = Program::new().step(Step::Now).say("|").step(Step::Now);
        let tells = tells.say("|").step(Step::ReceivedAt);
        let tells = tells.say("|").step(Step::Monotonic).say("|").step(Step::Monotonic);
        let live = harness.start(module(form, "m", |t| t.get("it", tells))).await?;
        let (mut latest, mut monotonic) = (now()?, (0, 0));
        for _ in 0..3 {
            a_millisecond().await;
            let text = live.get("/it").await?.text();
            let told: Vec<_> = text.split('|').collect();
            assert_eq!(told[0], told[1], "{form}: it stands still within a call");
            let time = time(told[0])?;
            assert_eq!(told[2], time.0.to_string(), "{form}");
            assert!(latest < time && time < now()?, "{form}: {latest:?}, {time:?}");
            latest = time;
            assert_eq!(told[3], told[4], "{form}: it stands still within a call");
            let before = std::mem::replace(&mut monotonic, self::time(told[3])?);
            assert!(before < monotonic, "{form}: {before:?}, {monotonic:?}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn the_time_of_a_listener_is_the_arrival_of_its_event(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let clock = Channel::new("clock").on("now", Program::new().step(Step::Now));
        let asks = Program::new().call("clock:now");
        let asks = Guest::with(Controller::new("Things", "/").get("it", asks));
        let app = AppSpec::new()
            .load("clock", form.form(Guest::new().channel(clock)).build())
            .load("asks", form.form(asks).build());
        let live = harness.start(app).await?;
        let before = now()?;
        a_millisecond().await;
        let text = live.get("/it").await?.text();
        // The payload of the event was `null`.
        let time = time(text.trim_start_matches("null"))?;
        assert!(before < time && time < now()?, "{form}: {text}");
        live.shutdown().await;
    }
    Ok(())
}

async fn random_numbers_differ(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let program = (0..100).fold(Program::new(), |program, _| program.step(Step::Random).say(" "));
        let live = harness.start(module(form, "m", |t| t.get("it", program))).await?;
        let mut numbers = BTreeSet::new();
        for _ in 0..2 {
            let text = live.get("/it").await?.text();
            for number in text.split_whitespace() {
                numbers.insert(number.parse::<u32>()?);
            }
        }
        // Two of 200 are the same in one run of 200,000.
        assert!(numbers.len() >= 198, "{form}: {} different numbers", numbers.len());
        assert!(numbers.iter().any(|number| *number > u32::MAX / 2), "{form}: all bits");
        live.shutdown().await;
    }
    Ok(())
}

/// The printed lines of a module.
fn printed(harness: &Harness, module: &str) -> Vec<Line> {
    let (module, from) = (format!(" module={module} "), " from=std");
    let mut lines = harness.logs().everywhere();
    lines.retain(|line| line.text.contains(&module) && line.text.contains(from));
    lines
}

/// The printed lines of a module once there are so many: the text, the level and the id of the request.
async fn lines_of(harness: &Harness, module: &str, many: usize) -> Result<Vec<(String, Level, Option<String>)>> {
    // A host in another language writes them when the guest has let go of the thread.
    until("the lines are there", || printed(harness, module).len() >= many).await?;
    let told = printed(harness, module).into_iter().map(|line| {
        let from = match line.level {
            Level::INFO => " from=stdout",
            _ => " from=stderr",
        };
        assert!(line.text.contains(from), "{}", line.text);
        let text = line.text.split(" module=").next().unwrap_or_default();
        (text.to_owned(), line.level, line.request)
    });
    Ok(told.collect())
}

async fn outside_of_a_call_there_is_neither_time_nor_chance(harness: Harness) -> Result<()> {
    for (form, name) in [(Flavor::Module, "outside-sync"), (Flavor::AsyncModule, "outside-async")] {
        let tells = |when: &str| {
            let mut steps = vec![Step::Say(format!("{when} at "))];
            for step in [Step::Now, Step::Random, Step::Variables] {
                steps.extend([step, Step::Say(" ".to_owned())]);
            }
            // No newline: the line ends with what wrote it.
            steps.push(Step::Print);
            steps
        };
        let guest = Guest::with(Controller::new("Things", "/").get("it", Program::text("it")))
            .when_described(tells("described"))
            .when_started(tells("started"));
        let variables = ModuleSettings::default().variables(json!({ "A": "a" }));
        let live = harness
            .start(AppSpec::new().load_with(name, form.form(guest).build(), variables))
            .await?;
        assert_eq!(live.get("/it").await?.text(), "it", "{form}");
        // Two instances were made, and the manifest was read twice.
        let lines = lines_of(&harness, name, 4).await?;
        for (when, many) in [("started", 2), ("described", 2)] {
            let same: Vec<_> = lines.iter().filter(|(text, ..)| text.starts_with(when)).collect();
            assert_eq!(same.len(), many, "{form}: {lines:#?}");
            for (text, level, request) in same {
                let expected = format!("{when} at 0 0 2654435769  ");
                assert_eq!((text, *level, request), (&expected, Level::INFO, &None), "{form}");
            }
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn a_printed_line_ends_with_its_call(harness: Harness) -> Result<()> {
    for (form, name) in [(Flavor::Module, "prints-sync"), (Flavor::AsyncModule, "prints-async")] {
        let print = |program: Program, step: Step| program.step(Step::RequestId).step(step);
        let program = print(Program::text("a whole line\nbegun by "), Step::Print);
        let program = print(program.say("an error of "), Step::PrintError);
        let live = harness
            .start(module(form, name, |t| t.get("it", program.say("done"))))
            .await?;
        for id in ["print-1", "print-2"] {
            let reply = live.send(Request::new("GET", "/it").header("x-request-id", id)).await?;
            assert_eq!(reply.text(), "done", "{form}");
        }
        let mut lines = lines_of(&harness, name, 6).await?;
        // A call may end after its reply, and so after lines of the next call.
        lines.sort_by(|(_, _, one), (_, _, other)| one.cmp(other));
        let expected = ["print-1", "print-2"].iter().flat_map(|id| {
            let line = |text: String, level| (text, level, Some((*id).to_owned()));
            [
                line("a whole line".to_owned(), Level::INFO),
                line(format!("begun by {id}"), Level::INFO),
                line(format!("an error of {id}"), Level::WARN),
            ]
        });
        assert_eq!(lines, expected.collect::<Vec<_>>(), "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_printed_line_ends_at_8_kib(harness: Harness) -> Result<()> {
    for (form, name) in [(Flavor::Module, "long-sync"), (Flavor::AsyncModule, "long-async")] {
        // 16 KiB and three bytes, in two pieces.
        let program = Program::text("x").step(Step::Double(14)).step(Step::Print).say("end");
        let live = harness
            .start(module(form, name, |t| t.get("it", program.step(Step::Print))))
            .await?;
        assert_eq!(live.get("/it").await?.status, 200, "{form}");
        let lines = lines_of(&harness, name, 3).await?;
        let lengths: Vec<_> = lines.iter().map(|(text, ..)| text.len()).collect();
        assert_eq!(lengths, [8 * 1024, 8 * 1024, 3], "{form}");
        live.shutdown().await;
        // A character of three bytes stands at the end of the first line.
        let name = &format!("{name}-characters");
        let program = Program::text("€").step(Step::Double(12)).step(Step::Print);
        let live = harness.start(module(form, name, |t| t.get("it", program))).await?;
        assert_eq!(live.get("/it").await?.status, 200, "{form}");
        let lines = lines_of(&harness, name, 2).await?;
        let texts: Vec<_> = lines.iter().map(|(text, ..)| &**text).collect();
        assert_eq!(texts, ["€".repeat(2730), "€".repeat(4096 - 2730)], "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_call_that_traps_has_printed(harness: Harness) -> Result<()> {
    for (form, name) in [(Flavor::Module, "traps-sync"), (Flavor::AsyncModule, "traps-async")] {
        let program = Program::text("the last words").step(Step::PrintError).ends(End::Trap);
        let live = harness.start(module(form, name, |t| t.get("it", program))).await?;
        let request = Request::new("GET", "/it").header("x-request-id", name);
        assert_eq!(live.send(request).await?.status, 500, "{form}");
        let lines = lines_of(&harness, name, 1).await?;
        let expected = ("the last words".to_owned(), Level::WARN, Some(name.to_owned()));
        assert_eq!(lines, [expected], "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn an_event_has_an_id_and_an_attempt(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let tells = Program::new().say(" ").step(Step::EventId).say(" ").step(Step::EventId);
        let db = Channel::new("db").on("one", tells.say(" ").step(Step::Attempt));
        let asks = Guest::with(Controller::new("Things", "/").get("it", Program::new().call("db:one")));
        let app = AppSpec::new()
            .load("db", form.form(Guest::new().channel(db)).build())
            .load("asks", form.form(asks).build());
        let live = harness.start(app).await?;
        let mut ids = BTreeSet::new();
        for _ in 0..3 {
            let text = live.get("/it").await?.text();
            let words: Vec<_> = text.split(' ').collect();
            let [_, id, again, attempt] = *words else {
                anyhow::bail!("{form}: {text}");
            };
            assert_eq!((id, attempt), (again, "1"), "{form}");
            assert!((10..=25).contains(&id.len()), "{form}: {id}");
            ids.insert(id.to_owned());
        }
        assert_eq!(ids.len(), 3, "{form}: {ids:?}");
        live.shutdown().await;
    }
    Ok(())
}
