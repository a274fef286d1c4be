//! Each case on each store, and what is of one store alone.

mod cases;
mod gate;
mod journal;
mod kills;
mod nats;
mod remote;
mod swaps;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use pointwork::EventStore;
use pointwork_events_tests::memory::Memory;
use pointwork_events_tests::server::Server;
use pointwork_journal::{Journal, JournalOptions};
use pointwork_test_runner::Trial;

type Case = fn(Arc<dyn EventStore>) -> Pin<Box<dyn Future<Output = ()>>>;
type Plain = fn() -> Pin<Box<dyn Future<Output = ()>>>;

fn main() -> ExitCode {
    if let Some(ended) = kills::child() {
        return ended;
    }
    let mut trials = Vec::new();
    for (name, case) in cases::ALL {
        trials.push(trial(format!("memory::{name}"), move || {
            run(case(Arc::new(Memory::default())))
        }));
        trials.push(trial(format!("journal::{name}"), move || {
            let folder = tempfile::tempdir().expect("a folder");
            let journal = Journal::open(JournalOptions::new().path(folder.path().join("events.sqlite")));
            run(case(Arc::new(journal.expect("a journal"))));
        }));
    }
    let server = Arc::new(LazyLock::new(Server::start));
    for (name, case) in cases::ALL {
        let server = server.clone();
        trials.push(trial(format!("nats::{name}"), move || {
            run(async move { case(nats::store(&server.url(), name).await).await });
        }));
    }
    for (name, case) in nats::ALL {
        trials.push(trial(format!("nats::{name}"), move || run(case())));
    }
    for (name, case) in remote::ALL {
        trials.push(trial(format!("remote::{name}"), move || run(case())));
    }
    for (name, case) in gate::ALL.iter().chain(swaps::ALL) {
        trials.push(trial(format!("memory::{name}"), move || run(case())));
    }
    for (name, case) in journal::ALL {
        trials.push(trial(format!("journal::{name}"), move || run(case())));
    }
    for (name, case) in kills::ALL {
        trials.push(trial(format!("kills::{name}"), move || run(case())));
    }
    pointwork_test_runner::run(trials)
}

fn trial(name: String, case: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        case();
        Ok(())
    })
}

fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("threads start").block_on(case);
}

/// Lists cases by their names.
macro_rules! list {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), || Box::pin($name()))),*]
    };
    (of a store: $($name:ident),* $(,)?) => {
        &[$((stringify!($name), |store| Box::pin($name(store)))),*]
    };
}
pub(crate) use list;
