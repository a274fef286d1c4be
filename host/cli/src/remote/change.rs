//! `pointwork swap`, `remove` and `rollback`: changes of a running server.

use std::path::PathBuf;

use http::Method;
use pointwork::{Change, ChangeKind, Diff};
use pointwork_core::read_file;

use super::list::short;
use super::{RemoteArgs, Reply, path_of};
use crate::error::{OrFailed, Result};
use crate::ui::{DONE, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork swap shop target/pointwork/shop.wasm
  pointwork swap shop shop.wasm --admin 127.0.0.1:9090 --token-file admin.token

The component is checked, compiled and probed while the module serves on; then all its routes are
replaced at once. Requests in flight end on the version that they began on. A module of a new name
is added; the component that serves already changes nothing. A refused component changes nothing; the exit code is 5.";

/// The options of `pointwork swap`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SwapArgs {
    /// Name of the module
    #[arg(value_name = "NAME")]
    name: String,

    /// Component
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// The options of `pointwork remove` and `pointwork rollback`.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// Name of the module
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(crate) fn swap(args: &SwapArgs, terminal: &mut Terminal) -> Result<()> {
    // The server knows its limit.
    let component = read_file(&args.file, u64::MAX);
    let component = component.or_failed(format_args!("cannot read the component `{}`", args.file.display()))?;
    let reply = args.remote.send(Method::PUT, &path_of(&args.name), Some(component))?;
    show(&reply, args.remote.json, terminal)
}

pub(crate) fn remove(args: &NameArgs, terminal: &mut Terminal) -> Result<()> {
    let reply = args.remote.send(Method::DELETE, &path_of(&args.name), None)?;
    show(&reply, args.remote.json, terminal)
}

pub(crate) fn roll_back(args: &NameArgs, terminal: &mut Terminal) -> Result<()> {
    let path = format!("{}/rollback", path_of(&args.name));
    let reply = args.remote.send(Method::POST, &path, None)?;
    show(&reply, args.remote.json, terminal)
}

fn show(reply: &Reply, json: bool, terminal: &mut Terminal) -> Result<()> {
    if json {
        terminal.line(reply.json());
        return Ok(());
    }
    let change: Change = reply.read()?;
    let done = change.kind.to_string().replace('-', " ");
    terminal.line(format_args!("module `{}` {}", change.module, styled(DONE, done)));
    let before = change
        .previous
        .as_ref()
        .filter(|_| change.kind != ChangeKind::Unchanged);
    for (label, digest) in [("version", change.digest.as_ref()), ("before", before)] {
        if let Some(digest) = digest {
            terminal.row(label, short(digest));
        }
    }
    terminal.rows("added", &declarations(&change, |diff| &diff.added));
    terminal.rows("removed", &declarations(&change, |diff| &diff.removed));
    terminal.rows("kept", &declarations(&change, |diff| &diff.kept));
    for warning in change.warnings {
        terminal.warning(warning);
    }
    Ok(())
}

/// One side of the differences of a change: routes as they are, the others with their kind.
fn declarations(change: &Change, side: fn(&Diff) -> &Vec<String>) -> Vec<String> {
    let of_kind = |kind: &'static str, diff| side(diff).iter().map(move |item| format!("{kind}{item}"));
    of_kind("", &change.routes)
        .chain(of_kind("channel ", &change.channels))
        .chain(of_kind("listener ", &change.listeners))
        .chain(of_kind("uses ", &change.events_used))
        .collect()
}
