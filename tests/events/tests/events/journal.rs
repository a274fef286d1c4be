//! What is of the store `sqlite` alone.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use pointwork::http::StatusCode;
use pointwork::{DurableOptions, EventStore, Failure, Order, Pointer, Settled};
use pointwork_events_tests::history::Promised;
use pointwork_events_tests::world::{CHANNEL, World, quick};
use pointwork_journal::{Journal, JournalOptions};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::within;

use crate::Plain;

pub(crate) const ALL: &[(&str, Plain)] = crate::list![
    events_survive_the_end_of_the_application,
    events_that_wait_together_share_a_transaction,
    a_full_journal_refuses_and_goes_on_when_there_is_room,
    a_second_process_is_refused,
    applications_of_one_process_share_a_journal,
    a_file_that_is_no_journal_is_refused,
    events_of_another_partitioning_refuse_the_channel,
    the_file_is_readable_for_its_owner_alone,
    attempts_of_a_cut_listener_count,
    an_attempt_comes_when_its_pause_is_over,
    an_id_is_known_for_the_time_of_its_channel,
    the_end_of_an_attempt_is_kept_a_second_after_a_failure,
];

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn open(path: &Path) -> Arc<Journal> {
    Arc::new(Journal::open(JournalOptions::new().path(path.to_owned())).expect("a journal"))
}

/// A world whose journal has the clock of the application.
fn timed(path: &Path, options: DurableOptions) -> (World, TestClock) {
    let time = TestClock::new();
    let journal = JournalOptions::new().path(path.to_owned()).clock(time.clock());
    let journal = Arc::new(Journal::open(journal).expect("a journal"));
    (World::timed(&time, journal, options), time)
}

fn refusal(path: &Path) -> String {
    let error = Journal::open(JournalOptions::new().path(path.to_owned())).expect_err("it is refused");
    pointwork_core::error_chain(&error)
}

async fn events_survive_the_end_of_the_application() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/events.sqlite");
    let world = World::new(open(&path), quick());
    for number in 1..=3 {
        assert_eq!(world.emit(1, number).await, StatusCode::OK);
    }
    let history = world.history.clone();
    world.app.close().await;
    drop(world);
    let mut world = World::new(open(&path), quick());
    world.history = history;
    world.listen(Arc::new(|_, _, _| Ok(())));
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn events_that_wait_together_share_a_transaction() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(&folder.path().join("events.sqlite"));
    let world = World::new(journal.clone(), quick());
    let emitters: Vec<_> = (0..64)
        .map(|key| {
            let world = world.clone();
            tokio::spawn(async move {
                for number in 1..=20 {
                    assert_eq!(world.emit(key, number).await, StatusCode::OK);
                }
            })
        })
        .collect();
    for emitter in emitters {
        emitter.await.expect("no panic");
    }
    let (events, syncs) = (64 * 20, journal.syncs());
    assert!(syncs * 8 <= events, "{syncs} transactions for {events} events");
    world.app.close().await;
}

async fn a_full_journal_refuses_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    let options = JournalOptions::new().path(path).max_size(256 << 10);
    let world = World::new(Arc::new(Journal::open(options).expect("a journal")), quick());
    let mut number = 0;
    loop {
        number += 1;
        match world.emit(1, number).await {
            StatusCode::OK => assert!(number < 10_000, "it never becomes full"),
            StatusCode::SERVICE_UNAVAILABLE => break,
            other => panic!("{other}"),
        }
    }
    assert!(number > 100, "{number}");
    world.listen(Arc::new(|_, _, _| Ok(())));
    world.settled().await;
    assert_eq!(world.emit(1, number + 1).await, StatusCode::OK);
    world.check(Promised::ByKey).await;
    world.app.close().await;
}

async fn a_second_process_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    let first = open(&path);
    let refused = tokio::task::spawn_blocking({
        let path = path.clone();
        move || refusal(&path)
    });
    let refused = refused.await.expect("no panic");
    assert_eq!(refused, format!("another process has the journal `{}`", path.display()));
    drop(first);
    open(&path);
}

async fn applications_of_one_process_share_a_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let shared =
        || Journal::shared(JournalOptions::new().path(folder.path().join("events.sqlite"))).expect("a journal");
    let before = World::new(shared(), quick());
    let mut after = World::new(shared(), quick());
    after.history = before.history.clone();
    for world in [&before, &after] {
        world.listen(Arc::new(|_, _, _| Ok(())));
    }
    for number in 1..=20 {
        let world = if number % 2 == 0 { &before } else { &after };
        assert_eq!(world.emit(1, number).await, StatusCode::OK);
    }
    before.app.close().await;
    assert_eq!(after.emit(1, 21).await, StatusCode::OK);
    after.check(Promised::ByKey).await;
    after.app.close().await;
}

async fn a_file_that_is_no_journal_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    fs::write(&path, "a text that is longer than the head of a database. ".repeat(200)).expect("written");
    let refused = refusal(&path);
    assert!(refused.contains("file is not a database"), "{refused}");
    let other = folder.path().join("shop.sqlite");
    rusqlite::Connection::open(&other)
        .and_then(|shop| shop.execute_batch("CREATE TABLE a (b)"))
        .expect("created");
    let refused = refusal(&other);
    assert_eq!(
        refused,
        format!(
            "`{}` is no journal of this version: it is another database",
            other.display()
        )
    );
    assert!(refusal(folder.path()).starts_with("cannot open the journal `"));
}

async fn events_of_another_partitioning_refuse_the_channel() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    let by_key = || quick().order(Order::Key(Pointer::new("/key").expect("a pointer")));
    let world = World::new(open(&path), by_key());
    world.emit(1, 1).await;
    world.app.close().await;
    drop(world);
    let journal = open(&path);
    let name: Arc<str> = CHANNEL.into();
    for options in [quick(), by_key().partitions(8)] {
        let error = journal.open(&name, &options).expect_err("an event waits");
        let kept =
            "the journal keeps 1 events of the channel `mail` under `order = \"key\", key = \"/key\", partitions = 16`";
        assert!(error.to_string().starts_with(kept), "{error}");
    }
    journal.open(&name, &by_key()).expect("the same settings");
}

async fn the_file_is_readable_for_its_owner_alone() {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.sqlite");
        let world = World::new(open(&path), quick());
        world.emit(1, 1).await;
        for name in ["events.sqlite", "events.sqlite-wal"] {
            let mode = fs::metadata(folder.path().join(name))
                .expect("a file")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        world.app.close().await;
    }
}

async fn attempts_of_a_cut_listener_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    let options = || DurableOptions::new().attempts(2);
    for attempt in 1..=2 {
        let world = World::new(open(&path), options());
        let (begins, begun) = tokio::sync::mpsc::unbounded_channel();
        let mut begun = begun;
        let stuck = move |delivery: pointwork::Delivery, _| {
            let _ = begins.send(delivery.attempt());
            std::future::pending()
        };
        world.app.channel(CHANNEL).on_raw("order", stuck).expect("a listener");
        if attempt == 1 {
            world.emit(1, 1).await;
        }
        assert_eq!(begun.recv().await, Some(attempt));
        // The listener is cut.
        world.app.close().await;
    }
    let world = World::new(open(&path), options());
    world.listen(Arc::new(|_, _, _| panic!("it had its attempts")));
    world.settled().await;
    let dead = world.store.dead_letters(CHANNEL, None, 10).await.expect("dead letters");
    assert_eq!(dead[0].reason, "its process ended during each attempt");
    world.app.close().await;
}

async fn an_attempt_comes_when_its_pause_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let pauses = [5 * SECOND, 60 * SECOND];
    let options = DurableOptions::new().attempts(3).backoff(pauses);
    let (world, time) = timed(&folder.path().join("events.sqlite"), options);
    let attempts = Arc::new(AtomicU32::new(0));
    let attempted = attempts.clone();
    world.listen(Arc::new(move |_, _, attempt| {
        attempted.store(attempt, Ordering::Relaxed);
        Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "once more"))
    }));
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    for (attempt, pause) in (1..).zip(pauses) {
        time.advance(pause - MILLISECOND).await;
        assert_eq!(attempts.load(Ordering::Relaxed), attempt);
        time.advance(MILLISECOND).await;
        assert_eq!(attempts.load(Ordering::Relaxed), attempt + 1);
    }
    assert_eq!(world.figures().await.dead, 1);
    world.app.close().await;
}

async fn an_id_is_known_for_the_time_of_its_channel() {
    const KNOWN: Duration = Duration::from_secs(100);
    let folder = tempfile::tempdir().expect("a folder");
    let options = quick()
        .id(Pointer::new("/number").expect("a pointer"))
        .duplicates(KNOWN);
    let (world, time) = timed(&folder.path().join("events.sqlite"), options);
    for (pause, waiting) in [(Duration::ZERO, 1), (KNOWN - MILLISECOND, 1), (MILLISECOND, 2)] {
        time.advance(pause).await;
        assert_eq!(world.emit(1, 1).await, StatusCode::OK);
        assert_eq!(world.figures().await.waiting, waiting, "{pause:?} later");
    }
    world.app.close().await;
}

async fn the_end_of_an_attempt_is_kept_a_second_after_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.sqlite");
    drop(open(&path));
    // No event can become a dead letter in the second after its emit.
    let fails = "CREATE TRIGGER fails BEFORE UPDATE OF dead ON events WHEN new.dead < old.emitted + 1000 \
                 BEGIN SELECT RAISE(ABORT, 'the test fails it'); END";
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(fails).expect("created");
    drop(database);
    let (world, time) = timed(&path, quick());
    assert_eq!(world.emit(1, 1).await, StatusCode::OK);
    let taken = within("the event", world.store.take(CHANNEL)).await;
    let taken = taken.expect("an answer").expect("an event");
    let mut settled = taken.hold.settle(Settled::Dead("the test ends it".to_owned()));
    time.advance(SECOND - MILLISECOND).await;
    let not_yet = settled.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(not_yet.is_pending());
    time.advance(MILLISECOND).await;
    let kept = within("the end", settled).await;
    kept.expect("an answer").expect("the end is kept");
    assert_eq!(world.figures().await.dead, 1);
    world.app.close().await;
}
