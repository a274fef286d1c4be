//! A process that is killed again and again, at any moment, loses no confirmed event; with NATS its server is killed as often.
//!
//! `POINTWORK_KILLS=200 cargo test -p pointwork-events-tests -- kills` kills it that often. A kill proves nothing for a machine that
//! loses power.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pointwork::http::StatusCode;
use pointwork::{EventStore, Failure, Order, Pointer};
use pointwork_events_tests::history::{Entry, Promised, check};
use pointwork_events_tests::server::Server;
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_journal::{Journal, JournalOptions};

use crate::Plain;
use crate::nats;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    no_confirmed_event_is_lost_in_kills,
    no_confirmed_event_is_lost_in_kills_of_nats,
];

/// The address of the server of NATS; without it the store is a journal.
const SERVER: &str = "POINTWORK_EVENTS_NATS";

const CHILD: &str = "POINTWORK_EVENTS_CHILD";

/// The number of an event: those of a round follow those of the round before.
const ROUND: u32 = 100_000;

const KEYS: u32 = 4;

async fn no_confirmed_event_is_lost_in_kills() {
    kill_again_and_again(None).await;
}

async fn no_confirmed_event_is_lost_in_kills_of_nats() {
    kill_again_and_again(Some(Server::start())).await;
}

#[expect(clippy::disallowed_methods, reason = "the kill may come at any moment")]
async fn kill_again_and_again(server: Option<Server>) {
    let kills: u32 = std::env::var("POINTWORK_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(12);
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..=kills {
        let is_last = round == kills;
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(CHILD, folder.path())
            .env("POINTWORK_EVENTS_ROUND", round.to_string())
            .env("POINTWORK_EVENTS_LAST", u8::from(is_last).to_string())
            .envs(server.as_ref().map(|server| (SERVER, server.url())))
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        if !is_last {
            // Another moment in each round, the start included.
            tokio::time::sleep(Duration::from_millis(40 + u64::from(round) * 37 % 250)).await;
            match &server {
                Some(server) if round % 2 == 1 => {
                    server.restart();
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                _ => {}
            }
            child.kill().expect("it is killed");
        }
        let status = child.wait().expect("it ends");
        assert!(!is_last || status.success(), "{status}");
    }
    let history = read(&folder.path().join("history"));
    let count = |is: fn(&Entry) -> bool| history.iter().filter(|entry| is(entry)).count();
    let confirmed = count(|entry| matches!(entry, Entry::Confirmed(..)));
    let dead = count(|entry| matches!(entry, Entry::Dead(..)));
    let counts = format!("{kills} kills, {confirmed} events confirmed, {dead} dead letters");
    assert!(confirmed > kills as usize && dead > 0, "too little happened: {counts}");
    let promised = server.map_or(Promised::ByKey, |_| Promised::ByKeyOfKilled);
    if let Err(broken) = check(&history, promised) {
        panic!("{broken}; {counts}");
    }
}

/// Runs a child, if this process is one.
pub(crate) fn child() -> Option<ExitCode> {
    let folder = PathBuf::from(std::env::var_os(CHILD)?);
    let variable = |name| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (round, is_last) = (
        variable("POINTWORK_EVENTS_ROUND"),
        variable("POINTWORK_EVENTS_LAST") == 1,
    );
    crate::run(emit_and_listen(&folder, round, is_last));
    Some(ExitCode::SUCCESS)
}

async fn emit_and_listen(folder: &Path, round: u32, is_last: bool) {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("history"));
    let log = Log(Arc::new(Mutex::new(file.expect("a file"))));
    let store: Arc<dyn EventStore> = match std::env::var(SERVER) {
        Ok(server) => nats::store(&server, "kills").await,
        Err(_) => Arc::new(Journal::open(JournalOptions::new().path(folder.join("events.sqlite"))).expect("a journal")),
    };
    let options = quick().order(Order::Key(Pointer::new("/key").expect("a pointer")));
    let world = World::new(store, options);
    let logs = log.clone();
    let listener = move |delivery: pointwork::Delivery, payload: pointwork::Payload| {
        let (logs, payload) = (logs.clone(), payload.to::<serde_json::Value>());
        async move {
            let payload = payload?;
            let number = |name: &str| payload[name].as_u64().unwrap_or_default() as u32;
            let (key, number) = (number("key"), number("number"));
            let (id, attempt) = (delivery.id(), delivery.attempt());
            logs.write(&Entry::Attempted((key, number), id, attempt));
            tokio::task::yield_now().await;
            match number % 10 {
                3 => Err(Failure::new(StatusCode::BAD_REQUEST, "refused for good")),
                7 if attempt == 1 => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "once more")),
                _ => {
                    logs.write(&Entry::Delivered((key, number)));
                    Ok(pointwork::Payload::null())
                }
            }
        }
    };
    world
        .app
        .channel(CHANNEL)
        .on_raw("order", listener)
        .expect("a listener");
    let emitters = (0..KEYS).map(|key| {
        let (world, log) = (world.clone(), log.clone());
        tokio::spawn(async move {
            for number in 1..if is_last { 5 } else { ROUND } {
                let number = round * ROUND + number;
                log.write(&Entry::Emitted((key, number)));
                if world.request(&format!("/emit/{key}/{number}")).await.0 == StatusCode::OK {
                    log.write(&Entry::Confirmed((key, number)));
                }
            }
        })
    });
    for emitter in emitters.collect::<Vec<_>>() {
        emitter.await.expect("no panic");
    }
    world.settled().await;
    for letter in world
        .store
        .dead_letters(CHANNEL, None, usize::MAX)
        .await
        .expect("dead letters")
    {
        let payload: serde_json::Value = letter.event.payload.to().expect("JSON");
        let number = |name: &str| payload[name].as_u64().unwrap_or_default() as u32;
        log.write(&Entry::Dead((number("key"), number("number")), letter.event.id));
    }
    world.app.close().await;
}

/// A file to which each entry is a line: what is written survives a kill.
#[derive(Clone)]
struct Log(Arc<Mutex<File>>);

impl Log {
    fn write(&self, entry: &Entry) {
        let line = match entry {
            Entry::Emitted((key, number)) => format!("emitted {key} {number}\n"),
            Entry::Confirmed((key, number)) => format!("confirmed {key} {number}\n"),
            Entry::Attempted((key, number), id, attempt) => format!("attempted {key} {number} {id} {attempt}\n"),
            Entry::Delivered((key, number)) => format!("delivered {key} {number}\n"),
            Entry::Dead((key, number), id) => format!("dead {key} {number} {id}\n"),
        };
        self.0.lock().write_all(line.as_bytes()).expect("it is written");
    }
}

fn read(path: &Path) -> Vec<Entry> {
    let lines = BufReader::new(File::open(path).expect("a file")).lines();
    let entry = |line: String| {
        let words: Vec<_> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u32>().expect("a number");
        let (key, number_of) = (number(1), number(2));
        let id = || words[3].to_owned();
        match words[0] {
            "emitted" => Entry::Emitted((key, number_of)),
            "confirmed" => Entry::Confirmed((key, number_of)),
            "attempted" => Entry::Attempted((key, number_of), id(), number(4)),
            "delivered" => Entry::Delivered((key, number_of)),
            "dead" => Entry::Dead((key, number_of), id()),
            other => panic!("{other}"),
        }
    };
    lines.map(|line| entry(line.expect("a line"))).collect()
}
