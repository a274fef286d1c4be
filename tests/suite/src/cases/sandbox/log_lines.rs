//! The log that a module writes: its lines are bounded, and forge none (spec A1, E1).

use anyhow::Result;

use super::SHOP;
use super::host_memory::long;
use super::limits::limited;
use crate::case::{Harness, cases};
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, End, Guest, Program, Step};
use crate::subject::AppSpec;

cases![
    host;
    a_log_line_is_bounded_and_stays_one_line: A1, E1;
    the_report_of_a_crash_forges_no_line: E1;
    a_long_event_name_is_not_logged_whole: A1, C4;
];

async fn a_log_line_is_bounded_and_stays_one_line(harness: Harness) -> Result<()> {
    let from_a_long_target = Program::text("the line").step(Step::LogFrom("t".repeat(100_000)));
    let fields = vec![("f".to_owned(), "y".repeat(100_000))];
    let logs = long(from_a_long_target.say("long")).step(Step::LogWith(fields));
    let forges = "forges\n2024-01-01T00:00:00Z ERROR pointwork: forged\u{1b}[2J\r\u{202e}";
    for form in Flavor::MODULES {
        let live = harness
            .start(limited(form, logs.clone().say(forges).step(Step::Log), |_| {}))
            .await?;
        assert_eq!(live.call("POST", "/it").await?.status, 200, "{form}");
        live.shutdown().await;
    }
    let found = async |start: &str| {
        let mut lines = harness.logs().containing(start, 2).await?;
        lines.retain(|line| line.text.starts_with(start) && line.text.contains(" module=shop from="));
        assert_eq!(lines.len(), 2, "{start}: {lines:#?}");
        Ok::<_, anyhow::Error>(lines.into_iter().map(|line| line.text))
    };
    for start in ["the line", "longx"] {
        for line in found(start).await? {
            // The fields of its request stand behind it, in a host of another language.
            assert!(line.len() <= 8 * 1024 + 200, "{start}: {} bytes", line.len());
            assert!(line.contains('…'), "{start}: {line:.100}");
        }
    }
    for line in found("forges").await? {
        let shown = r"forges\n2024-01-01T00:00:00Z ERROR pointwork: forged\u{1b}[2J\r\u{202e}";
        assert!(line.starts_with(shown), "{line}");
    }
    Ok(())
}

async fn the_report_of_a_crash_forges_no_line(harness: Harness) -> Result<()> {
    let forges = "panics\n2024-01-01T00:00:00Z ERROR pointwork: forged by a crash\u{1b}[2J";
    for form in Flavor::MODULES {
        let panics = Program::text(forges).step(Step::Panicked).ends(End::Trap);
        let live = harness.start(limited(form, panics, |_| {})).await?;
        assert_eq!(live.call("POST", "/it").await?.status, 500, "{form}");
        live.crashes()
            .expect("the panic", |crash| crash.message.contains("panics"))
            .await?;
        live.shutdown().await;
        // A failure of a listener is reported as well.
        let db = Channel::new("db").on("fails", Program::text(forges).fails("failed", 500));
        let tells = Controller::new("Things", "/").get("it", Program::new().emit("db:fails"));
        let live = harness
            .start(AppSpec::new().load(SHOP, form.form(Guest::with(tells).channel(db)).build()))
            .await?;
        assert_eq!(live.get("/it").await?.status, 200, "{form}");
        live.crashes()
            .expect("the failure", |crash| crash.message.contains("panics"))
            .await?;
        live.shutdown().await;
    }
    let forged = harness.logs().containing("forged by a crash", 4).await?;
    assert_eq!(forged.len(), 4, "{forged:#?}");
    for line in forged {
        assert!(
            !line.text.contains("\n2024") && !line.text.contains('\u{1b}'),
            "{}",
            line.text
        );
    }
    Ok(())
}

async fn a_long_event_name_is_not_logged_whole(harness: Harness) -> Result<()> {
    let name = format!("long-name-{}", "n".repeat(100_000));
    for form in Flavor::MODULES {
        let program = Program::new().emit(&name).call(&name);
        let live = harness.start(limited(form, program, |_| {})).await?;
        let reply = live.call("POST", "/it").await?;
        assert!(
            reply.text().starts_with("failed unknown-event: "),
            "{form}: {:.100}",
            reply.text()
        );
        assert!(reply.body.len() < 1000, "{form}: {} bytes", reply.body.len());
        live.shutdown().await;
    }
    let lines = harness.logs().containing("long-name-", 2).await?;
    assert_eq!(lines.len(), 2, "one for each form");
    assert!(lines.iter().all(|line| line.text.len() < 1000));
    Ok(())
}
