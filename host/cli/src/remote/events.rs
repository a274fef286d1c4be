//! `pointwork events`: the durable channels of a running server, and their dead letters.

use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{RemoteArgs, encoded};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::table;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork events                              the durable channels, and what waits
  pointwork events dead mail                    the dead letters of the channel `mail`
  pointwork events show mail:order:4711         one of them, with its payload
  pointwork events retry mail:order:4711        deliver it again
  pointwork events retry --all mail             deliver all of them again
  pointwork events drop mail:order:4711         forget it

An event is a dead letter when its listener refused it for good, or failed at every attempt.";

/// The dead letters of one request to the endpoint.
const PAGE: usize = 1_000;

/// The options of `pointwork events`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    remote: RemoteArgs,

    #[command(subcommand)]
    command: Option<EventsCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum EventsCommand {
    /// List the dead letters of a channel, the oldest first
    Dead {
        /// Durable channel
        #[arg(value_name = "CHANNEL")]
        channel: String,

        #[command(flatten)]
        remote: RemoteArgs,
    },
    /// Show a dead letter with its payload, as JSON
    Show {
        /// Id of the event
        #[arg(value_name = "ID")]
        id: String,

        #[command(flatten)]
        remote: RemoteArgs,
    },
    /// Deliver dead letters again
    Retry(SettleArgs),
    /// Forget dead letters
    Drop(SettleArgs),
}

#[derive(Debug, clap::Args)]
struct SettleArgs {
    /// Ids of the events
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,

    /// All dead letters of a channel
    #[arg(long, value_name = "CHANNEL", conflicts_with = "ids")]
    all: Option<String>,

    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ChannelRow {
    channel: String,
    waiting: Option<u64>,
    lag_seconds: Option<f64>,
    dead_letters: Option<u64>,
    recorded: u64,
    refused: u64,
    delivered: u64,
    retried: u64,
}

#[derive(Debug, Deserialize)]
struct LetterRow {
    id: String,
    attempts: u32,
    since: u64,
    reason: String,
}

pub(crate) fn run(args: &EventsArgs, terminal: &mut Terminal) -> Result<()> {
    match &args.command {
        None => channels(&args.remote, terminal),
        Some(EventsCommand::Dead { channel, remote }) => dead(channel, remote, terminal),
        Some(EventsCommand::Show { id, remote }) => {
            let reply = remote.send(Method::GET, &path_of(id)?, None)?;
            terminal.line(reply.json());
            Ok(())
        }
        Some(EventsCommand::Retry(settle)) => {
            let path = |id: &str| path_of(id).map(|path| format!("{path}/retry"));
            settle_each(settle, &Method::POST, path, "is delivered again", terminal)
        }
        Some(EventsCommand::Drop(settle)) => settle_each(settle, &Method::DELETE, path_of, "is dropped", terminal),
    }
}

fn channels(remote: &RemoteArgs, terminal: &mut Terminal) -> Result<()> {
    let reply = remote.send(Method::GET, "/events", None)?;
    if remote.json {
        terminal.line(reply.json());
        return Ok(());
    }
    let rows: Vec<ChannelRow> = reply.read()?;
    if rows.is_empty() {
        terminal.note("no channel is durable");
        return Ok(());
    }
    let titles = [
        "CHANNEL",
        "WAITING",
        "LAG",
        "DEAD",
        "RECORDED",
        "REFUSED",
        "DELIVERED",
        "RETRIED",
    ];
    terminal.line(table::columns(titles, rows.into_iter().map(ChannelRow::columns)));
    Ok(())
}

fn dead(channel: &str, remote: &RemoteArgs, terminal: &mut Terminal) -> Result<()> {
    if remote.json {
        terminal.line(format!("{:#}", Value::from(letters::<Value>(channel, remote)?)));
        return Ok(());
    }
    let rows: Vec<LetterRow> = letters(channel, remote)?;
    if rows.is_empty() {
        terminal.note(format!("the channel `{channel}` has no dead letters"));
        return Ok(());
    }
    let titles = ["ID", "ATTEMPTS", "SINCE", "REASON"];
    terminal.line(table::columns(titles, rows.into_iter().map(LetterRow::columns)));
    Ok(())
}

/// The dead letters of a channel, page by page.
fn letters<T: DeserializeOwned>(channel: &str, remote: &RemoteArgs) -> Result<Vec<T>> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/events/{}/dead?most={PAGE}{after}", encoded(channel));
        let reply = remote.send(Method::GET, &path, None)?;
        all.extend(reply.read::<Vec<T>>()?);
        let rows: Vec<LetterRow> = reply.read()?;
        match rows.last() {
            Some(last) if rows.len() == PAGE => after = format!("&after={}", encoded(&last.id)),
            _ => return Ok(all),
        }
    }
}

fn settle_each(
    args: &SettleArgs,
    method: &Method,
    path: impl Fn(&str) -> Result<String>,
    done: &str,
    terminal: &mut Terminal,
) -> Result<()> {
    let ids = match &args.all {
        Some(channel) => letters::<LetterRow>(channel, &args.remote)?
            .into_iter()
            .map(|letter| letter.id)
            .collect(),
        None => args.ids.clone(),
    };
    if ids.is_empty() {
        terminal.note("there are no dead letters");
    }
    for id in ids {
        let reply = args.remote.send(method.clone(), &path(&id)?, None)?;
        if args.remote.json {
            terminal.line(reply.json());
        } else {
            terminal.line(format_args!("`{id}` {done}"));
        }
    }
    Ok(())
}

/// The path of a dead letter: its id begins with its channel.
fn path_of(id: &str) -> Result<String> {
    let (channel, _) = id.split_once(':').ok_or_else(|| {
        let error = Error::new(Exit::Usage, format!("`{id}` is no id of an event"));
        error.with_hint("expected an id that `pointwork events dead CHANNEL` lists, such as `mail:order:4711`")
    })?;
    Ok(format!("/events/{}/dead/{}", encoded(channel), encoded(id)))
}

impl ChannelRow {
    fn columns(self) -> [String; 8] {
        let count = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let lag = self.lag_seconds.map(|lag| Duration::from_secs(lag as u64));
        [
            self.channel,
            count(self.waiting),
            lag.map_or_else(|| "?".to_owned(), |lag| humantime::format_duration(lag).to_string()),
            count(self.dead_letters),
            self.recorded.to_string(),
            self.refused.to_string(),
            self.delivered.to_string(),
            self.retried.to_string(),
        ]
    }
}

impl LetterRow {
    fn columns(self) -> [String; 4] {
        [
            self.id,
            self.attempts.to_string(),
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(self.since)).to_string(),
            self.reason,
        ]
    }
}
