//! `pointwork modules`: what serves.

use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use serde::Deserialize;

use super::RemoteArgs;
use crate::error::Result;
use crate::table;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork modules                             those of the server that pointwork.toml describes
  pointwork modules --admin /run/shop.sock      those of the server behind a socket
  pointwork modules --json | jq '.[].digest'

A state is `serving`, `on-trial` (a new version, of which a few crashes bring the one before back)
or `held-back` (it crashed again and again, and is refused for a while).";

/// The options of `pointwork modules`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
}

/// What is shown of a module; the endpoint says more.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    digest: String,
    form: String,
    state: String,
    since: u64,
    previous: Option<String>,
    usage: Usage,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Usage {
    calls: u64,
    crashes: u64,
    in_flight: u64,
}

/// Runs `pointwork modules`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let reply = args.remote.send(Method::GET, "/modules", None)?;
    if args.remote.json {
        terminal.line(reply.json());
        return Ok(());
    }
    let rows: Vec<Row> = reply.read()?;
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
        "IN FLIGHT",
    ];
    terminal.line(table::columns(titles, rows.into_iter().map(Row::columns)));
    Ok(())
}

impl Row {
    fn columns(self) -> [String; 9] {
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
            self.usage.in_flight.to_string(),
        ]
    }
}

/// As much of a digest as tells versions apart at a glance.
pub(super) fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
