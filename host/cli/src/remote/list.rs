//! `pointwork modules`: the modules of a running server.

use std::time::{Duration, UNIX_EPOCH};

use http::Method;
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
`held-back` (its instances cannot be created or most of its handlers crash, and its calls are refused for a while).";

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
    terminal.line(table::columns(titles, rows.into_iter().map(ModuleRow::columns)));
    Ok(())
}

impl ModuleRow {
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
