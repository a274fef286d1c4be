//! The standard library in modules without WASI, in both forms (spec H).

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use futures_util::future::try_join;
use pointwork_core::{CrashKind, Delivery, Payload};
use pointwork_test_clock::real::until;
use serde_json::json;
use tracing::Level;

use super::watch::Gate;
use crate::case::{Harness, Live, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::logs::Line;
use crate::subject::{AppSpec, ModuleSettings};

cases![
    sdk;
    lines_that_a_guest_prints_are_lines_of_the_log [RustStd, RustStdAsync]: H11, H12;
    what_one_request_prints_never_stands_in_the_line_of_another [RustStd, RustStdAsync]: H11, H12;
    what_is_printed_before_a_panic_is_in_the_log [RustStd, RustStdAsync]: H11, H12, E1;
    the_clock_of_the_standard_library_is_the_time_of_the_request [RustStd, RustStdAsync]: H10, H12;
    random_bits_differ_between_requests_and_instances [RustStd, RustStdAsync]: H10, H12;
    outside_of_a_request_time_and_random_bits_are_constant [RustStd, RustStdAsync]: H10, H12;
    files_sockets_and_threads_are_errors_and_no_traps [RustStd, RustStdAsync]: H12, C5;
    variables_are_those_of_the_standard_library_and_of_a_type [RustStd, RustStdAsync]: H12, V1, V6;
    a_variable_that_passes_the_load_can_be_read [RustStd, RustStdAsync]: V5, V6;
    variables_that_do_not_fit_their_type_refuse_the_module [RustStd, RustStdAsync]: V5, V6;
    sleeping_and_exiting_trap_with_a_sentence [RustStd, RustStdAsync]: H12, E1;
];

/// Each form, with the name of its module: the log of all cases is one.
const FORMS: [(Fixture, &str); 2] = [(Fixture::RustStd, "sync"), (Fixture::RustStdAsync, "async")];

/// The guest as a module of this name.
async fn app(harness: &Harness, fixture: Fixture, name: &str) -> Result<AppSpec> {
    Ok(AppSpec::new().load(name, harness.fixture(fixture).await?))
}

/// The lines of a module and a request, `None` for those outside of a request.
fn printed(harness: &Harness, module: &str, request: Option<&str>) -> Vec<Line> {
    let of_module = format!(" module={module} ");
    let mut lines = harness.logs().everywhere();
    lines.retain(|line| {
        line.text.contains(&of_module) && line.text.contains(" from=std") && line.request.as_deref() == request
    });
    lines
}

/// The printed text of a line, without the fields.
fn text(line: &Line) -> &str {
    line.text.split(" module=").next().unwrap_or_default()
}

/// Waits until the request has this number of lines: another process writes them after the reply. The line of the
/// constructors, which run in the first call of an instance, is not among them.
async fn lines(harness: &Harness, module: &str, request: &str, count: usize) -> Result<Vec<Line>> {
    let found = || {
        let mut lines = printed(harness, module, Some(request));
        lines.retain(|line| !text(line).starts_with("constructed"));
        lines
    };
    until("the lines are in the log", || found().len() >= count).await?;
    Ok(found())
}

async fn ask(live: &Live, path: &str, id: &str) -> Result<String> {
    let reply = live.send(Request::new("GET", path).header("x-request-id", id)).await?;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    Ok(reply.text())
}

async fn lines_that_a_guest_prints_are_lines_of_the_log(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let module = &format!("prints-{form}");
        let live = harness.start(app(&harness, fixture, module).await?).await?;
        // The second one begins in the instance in which the first one left a line without a newline.
        for name in ["one", "two"] {
            let id = &format!("{module}-{name}");
            assert_eq!(ask(&live, &format!("/std/prints/{name}"), id).await?, "printed");
            let found = lines(&harness, module, id, 4).await?;
            let found: Vec<_> = found.iter().map(|line| (line.level, text(line))).collect();
            assert_eq!(
                found,
                [
                    (Level::INFO, &*format!("whole line of {name}")),
                    (Level::WARN, &format!("error of {name}")),
                    (Level::INFO, &format!("begun line of {name}")),
                    (Level::WARN, &format!("begun error of {name}")),
                ],
                "{module}"
            );
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn what_one_request_prints_never_stands_in_the_line_of_another(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let module = &format!("halves-{form}");
        let gate = Gate::new();
        let pass = gate.clone();
        let app = app(&harness, fixture, module).await?;
        let live = harness
            .start(app.listen("clock", "wait", move |_: Delivery, _: Payload| {
                let pass = pass.clone();
                async move {
                    pass.pass().await;
                    Ok(Payload::null())
                }
            }))
            .await?;
        let ids = ["one", "two"].map(|name| format!("{module}-{name}"));
        let opens = async {
            // Both have printed the half of a line.
            gate.arrived(2).await?;
            gate.open();
            Ok(String::new())
        };
        let both = try_join(
            ask(&live, "/std/halves/one", &ids[0]),
            ask(&live, "/std/halves/two", &ids[1]),
        );
        try_join(both, opens).await?;
        for (name, id) in ["one", "two"].into_iter().zip(&ids) {
            let lines = lines(&harness, module, id, 1).await?;
            let found: Vec<_> = lines.iter().map(text).collect();
            let line = format!("first half of {name}, second half of {name}, rest of {name}");
            assert_eq!(found, [line], "{module}");
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn what_is_printed_before_a_panic_is_in_the_log(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let module = &format!("panics-{form}");
        let live = harness.start(app(&harness, fixture, module).await?).await?;
        for (path, message) in [
            ("panics", "this handler panics on purpose"),
            ("panics-in-print", "this value panics on purpose"),
        ] {
            let request =
                Request::new("GET", &format!("/std/{path}")).header("x-request-id", format!("{module}-{path}"));
            assert_eq!(live.send(request).await?.status, 500);
            let crash = live
                .crashes()
                .expect("the panic", |crash| crash.message.contains(message))
                .await?;
            assert_eq!(crash.kind, CrashKind::Trap);
        }
        let is_there = || {
            let lines = printed(&harness, module, Some(&format!("{module}-panics")));
            lines.iter().any(|line| text(line) == "begun line before the panic")
        };
        until("the line that the call began", is_there).await?;
        live.shutdown().await;
    }
    Ok(())
}

async fn the_clock_of_the_standard_library_is_the_time_of_the_request(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let live = harness
            .start(app(&harness, fixture, &format!("clocks-{form}")).await?)
            .await?;
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut before = now()?;
        for _ in 0..3 {
            let reply = live.get("/std/clocks").await?.text();
            let numbers: Vec<u64> = reply.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            let [time, later, elapsed] = numbers[..] else {
                panic!("expected three numbers: {reply}")
            };
            assert_eq!((later, elapsed), (time, 0), "it stands still within a call");
            let after = now()?;
            let time = Duration::from_nanos(time);
            assert!(before <= time && time <= after, "{before:?} {time:?} {after:?}");
            before = time;
        }
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn random_bits_differ_between_requests_and_instances(harness: Harness) -> Result<()> {
    let mut found = Vec::new();
    for (fixture, form) in FORMS {
        // Each application has instances of its own.
        for _ in 0..2 {
            let live = harness
                .start(app(&harness, fixture, &format!("random-{form}")).await?)
                .await?;
            for _ in 0..2 {
                let reply = live.get("/std/random").await?.text();
                let (id, hash) = reply.split_once(' ').context("an id and a hash")?;
                assert_eq!((id.len(), &id[14..15]), (36, "4"), "a version 4 id");
                found.extend([id.to_owned(), hash.to_owned()]);
            }
            live.ends_without_a_crash().await?;
        }
    }
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), count, "{found:?}");
    Ok(())
}

async fn outside_of_a_request_time_and_random_bits_are_constant(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let module = &format!("constructed-{form}");
        for _ in 0..2 {
            let live = harness.start(app(&harness, fixture, module).await?).await?;
            assert_eq!(live.get("/std/constructed").await?.text(), "1", "constructors run once");
            live.ends_without_a_crash().await?;
        }
        // Each load reads the declarations in an instance of its own.
        until("the lines of both loads", || printed(&harness, module, None).len() >= 2).await?;
        let mut found: Vec<_> = printed(&harness, module, None)
            .iter()
            .map(|line| text(line).to_owned())
            .collect();
        found.dedup();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("constructed: 0, ") && found[0].ends_with(", 0 0 0"),
            "no time, no variables: {found:?}"
        );
    }
    Ok(())
}

async fn files_sockets_and_threads_are_errors_and_no_traps(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let live = harness
            .start(app(&harness, fixture, &format!("outside-{form}")).await?)
            .await?;
        assert_eq!(live.get("/std/outside").await?.text(), "14 attempts, worked: []");
        assert_eq!(live.get("/std/variables").await?.text(), "0 0 0");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn variables_are_those_of_the_standard_library_and_of_a_type(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let component = harness.fixture(fixture).await?;
        let settings =
            ModuleSettings::default().variables(json!({ "GREETING": "hello", "PAGE_SIZE": "50", "OTHER": "" }));
        let configured = AppSpec::new().load_with("settings", component, settings);
        let live = harness.start(configured).await?;
        for _ in 0..2 {
            let text = live.get("/std/settings").await?.text();
            assert_eq!(text, "Some(\"hello\") 50 Ok(\"hello\")", "{form}");
            assert_eq!(live.get("/std/variables").await?.text(), "3 0 0", "{form}");
        }
        let statuses = live.control().statuses();
        let metadata = &statuses.first().context("a module")?.info.metadata;
        let schema = metadata.iter().find(|(name, _)| name == "variables-schema");
        let (_, schema) = schema.context("it declares its variables")?;
        let declared = json!({
            "type": "object",
            "properties": {
                "GREETING": { "type": "string", "description": "The words of a greeting." },
                "PAGE_SIZE": { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 },
                "OFFSET": { "type": "integer", "minimum": -128, "maximum": 127 },
                "RATE": { "type": "number", "minimum": -3.402_823_5e38, "maximum": 3.402_823_5e38 },
                "MARK": { "type": "string", "minLength": 1, "maxLength": 1 },
            },
            "required": [],
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(schema)?, declared, "{form}");
        live.ends_without_a_crash().await?;
        // As many and as long as there may be.
        let most = (0..256).map(|number| (format!("V{number:03}"), json!("x".repeat(1_020))));
        let most = ModuleSettings::default().variables(most.collect::<serde_json::Map<_, _>>().into());
        let most = AppSpec::new().load_with("settings", harness.fixture(fixture).await?, most);
        let live = harness.start(most).await?;
        assert_eq!(live.get("/std/variables").await?.text(), "256 0 0", "{form}");
        live.ends_without_a_crash().await?;
        let live = harness.start(app(&harness, fixture, "settings").await?).await?;
        assert_eq!(
            live.get("/std/settings").await?.text(),
            "None 20 Err(NotPresent)",
            "{form}"
        );
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_variable_that_passes_the_load_can_be_read(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let component = harness.fixture(fixture).await?;
        let app = |name: &str, value: &str| {
            let settings = ModuleSettings::default().variables(json!({ name: value }));
            AppSpec::new().load_with("settings", component.clone(), settings)
        };
        for (offset, rate, mark, read) in [
            ("-0", "-0", "-", "Some(0) Some(-0.0) Some('-')"),
            ("+127", "1e-50", "ä", "Some(127) Some(0.0) Some('ä')"),
            (
                "-128",
                "340282350000000000000000000000000000000",
                "\u{1f980}",
                "Some(-128) Some(3.4028235e38) Some('🦀')",
            ),
        ] {
            let settings = ModuleSettings::default().variables(json!({ "OFFSET": offset, "RATE": rate, "MARK": mark }));
            let app = AppSpec::new().load_with("settings", component.clone(), settings);
            let live = harness.start(app).await?;
            assert_eq!(live.get("/std/types").await?.text(), read, "{form}");
            live.ends_without_a_crash().await?;
        }
        for (name, values, expected) in [
            (
                "PAGE_SIZE",
                &["-0", "-00", "0x1", "1_0", "1.0"][..],
                "a whole number from 0 to 4294967295",
            ),
            (
                "OFFSET",
                &["128", "-129", "--1", "-"],
                "a whole number from -128 to 127",
            ),
            (
                "RATE",
                &["1e39", "-inf", "NaN", "1,5", ""],
                "a number from -3.4028235e+38 to 3.4028235e+38",
            ),
            ("MARK", &["", "ab", "e\u{301}"], "one character"),
        ] {
            for value in values {
                let refusal = harness.refusal(app(name, value)).await?;
                let expected = format!("the variable `{name}` does not fit: expected {expected}");
                assert!(refusal.contains(&expected), "{form}: {value:?}: {refusal}");
            }
        }
    }
    Ok(())
}

async fn variables_that_do_not_fit_their_type_refuse_the_module(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        for value in ["sesame", "-1", "4294967296", ""] {
            let settings = ModuleSettings::default().variables(json!({ "PAGE_SIZE": value }));
            let app = AppSpec::new().load_with("settings", harness.fixture(fixture).await?, settings);
            let refusal = harness.refusal(app).await?;
            let expected = "the variable `PAGE_SIZE` does not fit: expected a whole number from 0 to 4294967295";
            assert!(refusal.contains(expected), "{form}: {refusal}");
            assert!(!refusal.contains("sesame"), "{form}: {refusal}");
        }
    }
    Ok(())
}

async fn sleeping_and_exiting_trap_with_a_sentence(harness: Harness) -> Result<()> {
    for (fixture, form) in FORMS {
        let live = harness
            .start(app(&harness, fixture, &format!("sleeps-{form}")).await?)
            .await?;
        for (path, sentence) in [
            ("/std/sleeps", "a controller cannot sleep: call a channel that waits"),
            (
                "/std/exits",
                "a controller cannot end its process: return a reply instead",
            ),
        ] {
            let reply = live.get(path).await?;
            assert_eq!(reply.status, 500);
            assert!(!reply.text().contains("controller"), "{}", reply.text());
            let crash = live
                .crashes()
                .expect("the trap", |crash| crash.message.contains(sentence))
                .await?;
            assert_eq!(
                (crash.kind, crash.route.as_deref()),
                (CrashKind::Trap, Some(&*format!("GET {path}")))
            );
        }
        // The next call has another instance.
        assert_eq!(live.get("/std/variables").await?.status, 200);
        live.shutdown().await;
    }
    Ok(())
}
