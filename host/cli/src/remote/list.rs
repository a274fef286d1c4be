//! `pointwork modules`: the modules of a running server.

use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use pointwork_core::one_line;
use serde::Deserialize;

use super::RemoteArgs;
use crate::error::Result;
use crate::table;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork modules                             the modules of the server in pointwork.toml
  pointwork modules --admin /run/shop.sock      those of the server with this socket
  pointwork modules --json | jq '.[].digest'

A state is `serving`, `on-trial` (a new version, which the previous one replaces if its calls fail more often) or
`held-back` (its instances cannot be created or most of its handlers crash, and its calls are refused for a while).
Below the table stands each handler and listener whose calls crashed so often that they are refused for a while.";

/// The options of `pointwork modules`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The fields of a module that the table shows.
#[derive(Debug, Deserialize)]
struct ModuleRow {
    name: String,
    digest: String,
    form: String,
    state: String,
    since: u64,
    previous: Option<String>,
    usage: Usage,
    #[serde(default, rename = "held-back")]
    held_back: Vec<HeldBackHandler>,
}

/// A handler or a listener that is held back.
#[derive(Debug, Deserialize)]
struct HeldBackHandler {
    name: String,
    /// Milliseconds until calls are let through.
    rest: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Usage {
    calls: u64,
    crashes: u64,
    exceptions: u64,
    in_flight: u64,
}

pub(crate) fn run(args: &ListArgs, terminal: &mut Terminal) -> Result<()> {
    let reply = args.remote.send(Method::GET, "/modules", None)?;
    if args.remote.json {
        terminal.line(reply.json());
        return Ok(());
    }
    let rows: Vec<ModuleRow> = reply.read()?;
    if rows.is_empty() {
        terminal.note("no module is loaded");
        return Ok(());
    }
    let titles = [
        "MODULE",
        "STATE",
        "FORM",
        "VERSION",
        "BEFORE",
        "SINCE",
        "CALLS",
        "CRASHES",
        "EXCEPTIONS",
        "IN FLIGHT",
    ];
    let held_back: Vec<_> = rows.iter().flat_map(ModuleRow::held_back).collect();
    terminal.line(table::columns(titles, rows.into_iter().map(ModuleRow::columns)));
    for line in held_back {
        terminal.line(line);
    }
    Ok(())
}

impl ModuleRow {
    /// A line for each of its handlers and listeners that is held back.
    fn held_back(&self) -> impl Iterator<Item = String> {
        self.held_back.iter().map(|HeldBackHandler { name, rest }| {
            let module = &self.name;
            let until = match rest {
                0 => "a few calls at a time are let through until one does not crash".to_owned(),
                rest => format!("calls are refused for another {:.1} s", *rest as f64 / 1000.0),
            };
            one_line(
                &format!("{module}: `{name}` crashed in many calls; {until}"),
                usize::MAX,
            )
            .to_string()
        })
    }

    fn columns(self) -> [String; 10] {
        let previous = self.previous.as_deref().map_or("-", short);
        [
            self.name,
            self.state,
            self.form,
            short(&self.digest).to_owned(),
            previous.to_owned(),
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(self.since)).to_string(),
            self.usage.calls.to_string(),
            self.usage.crashes.to_string(),
            self.usage.exceptions.to_string(),
            self.usage.in_flight.to_string(),
        ]
    }
}

/// The beginning of a digest, which is enough to distinguish versions.
pub(super) fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_that_are_held_back_have_a_line() {
        let row = r#"{
            "name": "shop", "digest": "d", "form": "sync", "state": "serving", "since": 0, "previous": null,
            "usage": {"calls": 9, "crashes": 5, "exceptions": 0, "in-flight": 0},
            "held-back": [
                {"name": "Shop.hog", "state": "open", "rest": 484},
                {"name": "shop:pay", "state": "half-open", "rest": 0}
            ]
        }"#;
        let row: ModuleRow = serde_json::from_str(row).expect("a module");
        let lines: Vec<_> = row.held_back().collect();
        let expected = [
            "shop: `Shop.hog` crashed in many calls; calls are refused for another 0.5 s",
            "shop: `shop:pay` crashed in many calls; a few calls at a time are let through until one does not crash",
        ];
        assert_eq!(lines, expected);
    }
}
