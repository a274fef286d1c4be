//! A server that is killed at any moment starts again, with the current version or the one that was being uploaded.
//!
//! `POINTWORK_KILLS` is the number of kills, by default 5, with `POINTWORK_LONG` 200; `POINTWORK_KILLS_SEED` repeats a run:
//! `POINTWORK_KILLS=200 cargo test --workspace --test cli -- kills --nocapture`.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pointwork_test_clock::real::until_blocking;

use crate::server::{Server, command, try_request};
use crate::versions::{configured, served, version};

/// The longest time before a kill, from the first upload or from the start.
const LONGEST: Duration = Duration::from_millis(600);

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, got `{text}`")),
    )
}

/// Uploads one version after the other until the server is gone. Each upload is reported before it is sent, and again after
/// the reply.
fn upload(socket: &Path, begun: &AtomicU64, acknowledged: &AtomicU64) {
    loop {
        let number = begun.load(Ordering::SeqCst) + 1;
        let component = version(number);
        let Ok(mut stream) = UnixStream::connect(socket) else {
            return;
        };
        begun.store(number, Ordering::SeqCst);
        match try_request(&mut stream, "PUT", "/modules/shop", "host: admin\r\n", &component) {
            Ok(reply) if reply.status == 200 => acknowledged.store(number, Ordering::SeqCst),
            Ok(reply) => panic!("version {number} is refused: {reply:?}"),
            Err(_) => return,
        }
    }
}

/// Starts a server and kills it, often before it serves.
#[expect(clippy::disallowed_methods, reason = "the kill may come at any moment")]
fn kill_while_it_starts(folder: &Path, after: Duration) {
    let mut child = command(folder, [""; 0]).spawn().expect("it runs");
    thread::sleep(after);
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
}

#[test]
#[allow(
    clippy::print_stdout,
    reason = "the seed makes a run again, and the counts are what the test is run for"
)]
fn server_that_is_killed_at_any_moment_starts_again_with_a_whole_version() {
    let usual = if std::env::var_os("POINTWORK_LONG").is_some() {
        200
    } else {
        5
    };
    let kills = variable("POINTWORK_KILLS").unwrap_or(usual);
    let seed = variable("POINTWORK_KILLS_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("{kills} kills with POINTWORK_KILLS_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut moment = move || LONGEST.mul_f64(random.f64());

    let folder = configured("[admin]\nsocket = \"admin.sock\"\n[state]\ndirectory = \"state\"");
    let socket: PathBuf = folder.path().join("admin.sock");
    let (begun, acknowledged) = (AtomicU64::new(1), AtomicU64::new(1));
    let (mut uploads, mut lost) = (0, 0);
    for kill in 0..kills {
        if kill % 4 == 3 {
            kill_while_it_starts(folder.path(), moment());
        }
        let server = Server::start(folder.path(), [""; 0]);
        let current = served(&server);
        let (known, last) = (acknowledged.load(Ordering::SeqCst), begun.load(Ordering::SeqCst));
        assert!(
            current == known || current == last,
            "seed {seed}, kill {kill}: version {current} serves, expected {known}, or {last}, which was on its way"
        );
        uploads = last;
        lost += u64::from(current == known && last > known);
        // Each version has a number of its own.
        acknowledged.store(current, Ordering::SeqCst);
        thread::scope(|scope| {
            let uploading = scope.spawn(|| upload(&socket, &begun, &acknowledged));
            // Without an upload nothing could be lost.
            let begins = || (begun.load(Ordering::SeqCst) > last || uploading.is_finished()).then_some(());
            until_blocking("an upload begins", begins).expect("an upload");
            #[expect(clippy::disallowed_methods, reason = "the kill may come at any moment")]
            thread::sleep(moment());
            server.stop("KILL");
            uploading.join().expect("every upload that was whole was taken");
        });
    }
    assert!(begun.into_inner() > kills, "an upload for each kill, at least");
    println!(
        "{kills} good starts; {} uploads, {lost} of them were cut by a kill and had not become current",
        uploads - 1
    );
}
