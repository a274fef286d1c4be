//! The variables of a module: its configuration, constant for a version (spec V).

use std::path::Path;

use anyhow::Result;
use pointwork::{ChangeKind, ModuleOptions, Trial};
use serde_json::{Value, json};

use crate::case::{Harness, Live, cases};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program, Step as Say};
use crate::subject::{AppSpec, ModuleSettings, Step};

cases![
    host;
    variables_are_those_of_the_configuration: H10, V1, C5 of sdk in hosts;
    a_module_without_variables_has_none: H10, V1 of sdk;
    a_version_keeps_the_values_that_were_read_for_it: V1, V2, S4;
    a_value_that_is_missing_refuses_the_change_by_its_name: V1, S2;
    a_failed_trial_leads_back_to_the_values_of_the_version_before: V1, V2, V3, S1;
    a_value_is_in_no_status_change_log_or_error: V3;
    too_much_and_what_no_environment_has_is_refused: V4;
    what_a_module_needs_is_checked_at_its_load: V5 of sdk;
    a_schema_of_variables_that_is_none_is_refused: V5 of sdk;
];

/// A value that stands nowhere else.
const SECRET: &str = "open-sesame-4711";

/// A module that tells its variables.
fn tells(form: Flavor) -> Guest {
    let program = Program::text("<").step(Say::Variables).say(">");
    form.form(Guest::with(Controller::new("Things", "/").get("it", program)))
}

fn with(variables: Value) -> ModuleSettings {
    ModuleSettings::default().variables(variables)
}

fn configured(form: Flavor, variables: Value) -> AppSpec {
    AppSpec::new().load_with("m", tells(form).build(), with(variables))
}

async fn told(live: &Live) -> Result<String> {
    Ok(live.get("/it").await?.text())
}

async fn variables_are_those_of_the_configuration(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("key");
    std::fs::write(&file, "two\nlines\n")?;
    for form in Flavor::MODULES {
        let variables = json!({ "CURRENCY": "EUR", "KEY": { "file": file }, "EMPTY": "", "odd name": "ä=b" });
        let live = harness.start(configured(form, variables)).await?;
        for _ in 0..2 {
            let expected = "<CURRENCY=EUR\nEMPTY=\nKEY=two\nlines\nodd name=ä=b\n>";
            assert_eq!(told(&live).await?, expected, "{form}");
        }
        let statuses = live.control().statuses();
        assert_eq!(
            statuses[0].info.variables,
            ["CURRENCY", "EMPTY", "KEY", "odd name"],
            "{form}"
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn a_module_without_variables_has_none(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let live = harness.start(AppSpec::new().load("m", tells(form).build())).await?;
        assert_eq!(told(&live).await?, "<>", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

/// Swaps the module for itself, with the options that it has.
async fn swap(live: &Live, form: Flavor) -> Result<(), crate::subject::Refusal> {
    let step = Step::Swap("m".to_owned(), tells(form).build().into());
    live.control().apply(step).await
}

async fn a_version_keeps_the_values_that_were_read_for_it(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    for form in Flavor::MODULES {
        std::fs::write(&file, "one")?;
        let live = harness
            .start(configured(form, json!({ "A": { "file": file } })))
            .await?;
        swap(&live, form).await?;
        assert_eq!(
            live.control().statuses()[0].previous,
            None,
            "{form}: the same values change nothing"
        );
        std::fs::write(&file, "two")?;
        assert_eq!(told(&live).await?, "<A=one\n>", "{form}: they are constant");
        swap(&live, form).await?;
        assert_eq!(told(&live).await?, "<A=two\n>", "{form}: a swap reads them");
        assert!(live.control().statuses()[0].previous.is_some(), "{form}: it was a swap");
        std::fs::write(&file, "three")?;
        live.control().apply(Step::RollBack("m".to_owned())).await?;
        assert_eq!(told(&live).await?, "<A=three\n>", "{form}: and so does a roll-back");
        let swaps = |kind| live.changes().all().iter().filter(|change| change.kind == kind).count();
        live.changes()
            .expect("the roll-back", |change| change.kind == ChangeKind::RolledBack)
            .await?;
        assert_eq!(swaps(ChangeKind::Swapped), 1, "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_value_that_is_missing_refuses_the_change_by_its_name(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    let missing = format!(
        "the variable `TOKEN` has no value: the file `{}` cannot be read",
        file.display()
    );
    for form in Flavor::MODULES {
        let from_env = json!({ "A": "a", "TOKEN": { "env": "POINTWORK_TEST_NEVER_SET" } });
        let refusal = harness.refusal(configured(form, from_env)).await?;
        let expected =
            "the variable `TOKEN` has no value: the environment variable `POINTWORK_TEST_NEVER_SET` is not set";
        assert!(
            refusal.contains("module `m`") && refusal.contains(expected),
            "{form}: {refusal}"
        );
        let from_file = json!({ "TOKEN": { "file": file } });
        let refusal = harness.refusal(configured(form, from_file.clone())).await?;
        assert!(refusal.contains(&missing), "{form}: {refusal}");

        std::fs::write(&file, "here")?;
        let live = harness.start(configured(form, from_file)).await?;
        let other = Step::Swap("m".to_owned(), tells(form).package("other", "1").build().into());
        live.control().apply(other).await?;
        std::fs::remove_file(&file)?;
        let refused = [
            swap(&live, form).await,
            live.control().apply(Step::RollBack("m".to_owned())).await,
        ];
        for refusal in refused {
            let refusal = refusal.expect_err("the file is gone");
            assert!(refusal.text().contains(&missing), "{form}: {}", refusal.text());
        }
        assert_eq!(told(&live).await?, "<TOKEN=here\n>", "{form}: the version goes on");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_failed_trial_leads_back_to_the_values_of_the_version_before(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for form in Flavor::MODULES {
        let file = folder.path().join(format!("token-{form}"));
        std::fs::write(&file, SECRET)?;
        let settings = with(json!({ "TOKEN": { "file": file } }));
        let app = AppSpec::new().load_with("m", tells(form).build(), settings);
        let live = harness.start(app).await?;
        let traps = Controller::new("Things", "/").get("it", Program::new().ends(End::Trap));
        let traps = form.form(Guest::with(traps)).build().into();
        let mut settings = with(json!({ "TOKEN": { "file": file } }));
        settings.options = ModuleOptions::new().trial(Trial::new().calls(1));
        // Neither the value of the version that fails nor a missing one comes back.
        std::fs::write(&file, "the fault")?;
        let step = Step::SwapWith("m".to_owned(), traps, settings);
        live.control().apply(step).await?;
        std::fs::remove_file(&file)?;
        assert_eq!(live.get("/it").await?.status, 500, "{form}");
        let change = live
            .changes()
            .expect("the roll-back", |change| change.kind == ChangeKind::RolledBack)
            .await?;
        assert!(change.reason.is_some(), "{form}: nobody asked for it");
        assert_eq!(told(&live).await?, format!("<TOKEN={SECRET}\n>"), "{form}");
        live.shutdown().await;
    }
    let lines = harness.logs().everywhere();
    let told = lines.iter().find(|line| line.text.contains(SECRET));
    assert!(told.is_none(), "{told:?}");
    Ok(())
}

async fn a_value_is_in_no_status_change_log_or_error(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (file, wrong) = (folder.path().join("token"), folder.path().join("wrong"));
    std::fs::write(&file, SECRET)?;
    std::fs::write(&wrong, [SECRET.as_bytes(), b"\xff"].concat())?;
    for form in Flavor::MODULES {
        let secrets = json!({ "A": SECRET, "B": { "file": file } });
        let live = harness.start(configured(form, secrets)).await?;
        assert_eq!(told(&live).await?.matches(SECRET).count(), 2, "{form}");
        let mut refused = Vec::new();
        for variables in [
            json!({ "A": SECRET, "B": { "file": wrong } }),
            json!({ "A": SECRET, "B": { "env": "POINTWORK_TEST_NEVER_SET" } }),
            json!({ "A": format!("{SECRET}\0") }),
            json!({ "A": SECRET, "B": SECRET.repeat(20_000) }),
            json!({ "A": SECRET, "=": SECRET }),
        ] {
            let step = Step::SwapWith("m".to_owned(), tells(form).build().into(), with(variables));
            let refusal = live.control().apply(step).await.expect_err("it is refused");
            refused.push(refusal.text().to_owned());
        }
        let statuses = live.control().statuses();
        let shown = format!(
            "{statuses:?} {} {:?} {:?} {refused:?}",
            serde_json::to_string(&statuses)?,
            live.changes().all(),
            live.refusals().all(),
        );
        assert!(!shown.contains(SECRET), "{form}: {shown}");
        assert!(
            shown.contains(r#""variables":["A","B"]"#),
            "{form}: names are shown: {shown}"
        );
        live.shutdown().await;
    }
    let lines = harness.logs().everywhere();
    let told = lines.iter().find(|line| line.text.contains(SECRET));
    assert!(told.is_none(), "{told:?}");
    Ok(())
}

async fn too_much_and_what_no_environment_has_is_refused(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).map(|()| path)
    };
    let place = |path: &Path| json!({ "file": path });
    let many: Value = (0..257)
        .map(|number| (format!("V{number}"), json!("")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let big = "x".repeat(1_000_000);
    let half = "x".repeat(200_000);
    for (variables, problem) in [
        (
            json!({ "BIG": big }),
            "the variables up to `BIG` have 1000003 bytes, expected at most 262144",
        ),
        (
            json!({ "BIG": place(&write("big", big.as_bytes())?) }),
            "it has 1000000 bytes, expected at most 262144",
        ),
        (
            json!({ "A": half, "B": half }),
            "the variables up to `B` have 400002 bytes, expected at most 262144",
        ),
        (many, "it has 257 variables, expected at most 256"),
        (
            json!({ "A": place(&write("binary", b"a\xff")?) }),
            "it is not UTF-8 from byte 1 on",
        ),
        (
            json!({ "A": place(&write("zero", b"a\0b")?) }),
            "the value of the variable `A` has a zero byte",
        ),
        (
            json!({ "A": place(folder.path()) }),
            "it is a directory, expected a regular file",
        ),
        (json!({ "A=B": "c" }), "`A=B` is not the name of a variable"),
        (json!({ "A\0B": "c" }), "is not the name of a variable"),
        (
            json!({ "A": 5 }),
            "the value of a variable is a number, expected a string",
        ),
    ] {
        for form in Flavor::MODULES {
            let refusal = harness.refusal(configured(form, variables.clone())).await?;
            assert!(refusal.contains(problem), "{form}: {problem}: {refusal}");
        }
    }
    Ok(())
}

const SCHEMA: &str = r#"{
    "properties": { "PORT": { "type": "integer", "minimum": 1, "maximum": 65535 }, "DEBUG": { "type": "boolean" } },
    "required": ["TOKEN", "PORT"]
}"#;

async fn what_a_module_needs_is_checked_at_its_load(harness: Harness) -> Result<()> {
    for form in Flavor::MODULES {
        let component = tells(form).metadata("variables-schema", SCHEMA).build();
        let app = |variables| AppSpec::new().load_with("m", component.clone(), with(variables));
        for (variables, problem) in [
            (
                Value::Null,
                "it needs the variables `TOKEN`, `PORT`, which are not configured",
            ),
            (
                json!({ "TOKEN": "" }),
                "it needs the variables `PORT`, which are not configured",
            ),
            (
                json!({ "TOKEN": "", "PORT": SECRET }),
                "the variable `PORT` does not fit: expected a whole number from 1 to 65535",
            ),
            (
                json!({ "TOKEN": "", "PORT": "0" }),
                "the variable `PORT` does not fit: expected a whole number from 1 to 65535",
            ),
            (
                json!({ "TOKEN": "", "PORT": "1", "DEBUG": "on" }),
                "the variable `DEBUG` does not fit: expected `true` or `false`",
            ),
        ] {
            let refusal = harness.refusal(app(variables)).await?;
            assert!(
                refusal.contains(problem) && !refusal.contains(SECRET),
                "{form}: {refusal}"
            );
        }
        let live = harness.start(app(json!({ "TOKEN": "t", "PORT": "80" }))).await?;
        assert_eq!(told(&live).await?, "<PORT=80\nTOKEN=t\n>", "{form}");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_schema_of_variables_that_is_none_is_refused(harness: Harness) -> Result<()> {
    for schema in ["TOKEN", "{ \"required\": \"TOKEN\" }", "{ \"required\": [\"A=B\"] }"] {
        let component = tells(Flavor::Module).metadata("variables-schema", schema).build();
        let refusal = harness.refusal(AppSpec::new().load("m", component)).await?;
        assert!(
            refusal.contains("the metadata `variables-schema` of module `m` "),
            "{refusal}"
        );
    }
    Ok(())
}
