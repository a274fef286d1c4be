use std::error::Error as _;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::thread;

use pointwork_core::{Sleep, TimeSource};
use pointwork_test_clock::TestClock;
use serde_json::json;
use tempfile::TempDir;

use super::*;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS shops (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS products (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL UNIQUE,
    price REAL CONSTRAINT price_is_positive CHECK (price > 0),
    active INTEGER NOT NULL DEFAULT 1,
    tags TEXT NOT NULL DEFAULT '[]',
    image BLOB,
    shop INTEGER REFERENCES shops (id)
);
CREATE TRIGGER IF NOT EXISTS no_gold BEFORE INSERT ON products WHEN new.sku = 'gold'
BEGIN SELECT RAISE(ABORT, 'gold is not for sale'); END;
";

/// A database in a folder of its own, with an event for each name, kind and statement.
struct Setting {
    folder: TempDir,
    options: SqliteOptions,
}

impl Setting {
    fn new(events: &[(&str, &str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let options =
            SqliteOptions::new(folder.path().join("data/shop.sqlite")).schema(folder.path().join("schema.sql"));
        let options = events.iter().fold(options, |options, (event, kind, sql)| match *kind {
            "query" => options.query(*event, *sql),
            "query-one" => options.query_one(*event, *sql),
            _ => options.execute(*event, *sql),
        });
        let setting = Self { folder, options };
        setting.write("schema.sql", SCHEMA);
        setting
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).expect("written");
    }

    fn open(&self) -> Result<Sqlite, Error> {
        Sqlite::open(self.options.clone())
    }
}

fn open(events: &[(&str, &str, &str)]) -> Sqlite {
    Setting::new(events).open().expect("it opens")
}

/// Kind, sentence, cause and hint of the refusal.
fn refusal(setting: &Setting) -> (ErrorKind, String, String, String) {
    let error = setting.open().expect_err("it is refused");
    let cause = error.source().expect("a cause").to_string();
    (
        error.kind(),
        error.to_string(),
        cause,
        error.hint().unwrap_or_default().to_owned(),
    )
}

fn run(db: &Sqlite, event: &str, payload: &Value) -> Result<Value, EventError> {
    run_as(db, event, payload, &limits(&Clock::real(), None))
}

fn run_as(db: &Sqlite, event: &str, payload: &Value, run: &Run) -> Result<Value, EventError> {
    let result = db.connections.run(&db.statements[event], payload, run)?;
    Ok(serde_json::from_slice(&result).expect("JSON"))
}

fn limits(clock: &Clock, deadline: Option<Instant>) -> Run {
    Run {
        clock: clock.clone(),
        deadline,
        most: 1024 * 1024,
        is_cancelled: Arc::default(),
    }
}

fn ok(db: &Sqlite, event: &str, payload: Value) -> Value {
    run(db, event, &payload).expect("it runs")
}

fn failed(db: &Sqlite, event: &str, payload: Value) -> (String, u16, String) {
    let failure = run(db, event, &payload).expect_err("it fails").failure;
    let code = failure.code().as_str().to_owned();
    (code, failure.status().as_u16(), failure.message().to_owned())
}

const MILLISECOND: Duration = Duration::from_millis(1);

const ADD: (&str, &str, &str) = (
    "add",
    "execute",
    "INSERT INTO products (sku, price, shop) VALUES (:sku, :price, :shop)",
);
const ALL: (&str, &str, &str) = ("all", "query", "SELECT id, sku, price FROM products ORDER BY id");
const ONE: (&str, &str, &str) = ("one", "query-one", "SELECT id, sku FROM products WHERE sku = :sku");

fn product(sku: &str) -> Value {
    json!({"sku": sku, "price": 2.5, "shop": null})
}

#[test]
fn rows_are_read_and_survive_a_restart() {
    let setting = Setting::new(&[ADD, ALL]);
    let db = setting.open().expect("it opens");
    assert_eq!(ok(&db, "all", json!(null)), json!([]));
    assert_eq!(ok(&db, "add", product("tea")), json!(1));
    drop(db);
    let db = setting.open().expect("it opens again");
    assert_eq!(
        ok(&db, "all", json!({})),
        json!([{"id": 1, "sku": "tea", "price": 2.5}])
    );
}

#[test]
fn query_one_is_an_object_or_null() {
    let db = open(&[ADD, ONE]);
    ok(&db, "add", product("tea"));
    assert_eq!(ok(&db, "one", json!({"sku": "tea"})), json!({"id": 1, "sku": "tea"}));
    assert_eq!(ok(&db, "one", json!({"sku": "coffee"})), json!(null));
}

#[test]
fn execute_counts_rows_or_returns_the_first() {
    let db = open(&[
        ADD,
        ALL,
        (
            "rename",
            "execute",
            "UPDATE products SET sku = sku || '!' WHERE id >= :from",
        ),
        (
            "drop",
            "execute",
            "DELETE FROM products WHERE id = :id RETURNING id, sku, active AS \"active:bool\"",
        ),
    ]);
    ok(&db, "add", product("tea"));
    ok(&db, "add", product("coffee"));
    assert_eq!(ok(&db, "rename", json!({"from": 1})), json!(2));
    assert_eq!(
        ok(&db, "drop", json!({"id": 1})),
        json!({"id": 1, "sku": "tea!", "active": true})
    );
    assert_eq!(ok(&db, "drop", json!({"id": 1})), json!(null));
    assert_eq!(
        ok(&db, "all", json!(null)),
        json!([{"id": 2, "sku": "coffee!", "price": 2.5}])
    );
}

#[test]
fn values_keep_their_types_in_both_directions() {
    let db = open(&[(
        "echo",
        "query-one",
        "SELECT :null AS 'null', :bool AS 'bool:bool', :int AS 'int', :real AS 'real', :text AS 'text', \
         :list AS 'list:json', :object AS 'object:json', x'00ff' AS 'blob', typeof(:bool) AS 'bool is', \
         NULL AS 'nothing:json'",
    )]);
    let payload = json!({
        "null": null, "bool": true, "int": i64::MIN, "real": 1.5, "text": "ä\u{0}'", "list": [1, "a"], "object": {"a": null},
    });
    assert_eq!(
        ok(&db, "echo", payload),
        json!({
            "null": null, "bool": true, "int": i64::MIN, "real": 1.5, "text": "ä\u{0}'", "list": [1, "a"],
            "object": {"a": null}, "blob": "AP8=", "bool is": "integer", "nothing": null,
        })
    );
}

#[test]
fn value_without_a_json_form_is_a_failure() {
    let db = open(&[
        ("infinite", "query-one", "SELECT 9e999 AS x"),
        ("text", "query-one", "SELECT CAST(x'ff' AS TEXT) AS x"),
        ("json", "query-one", "SELECT 'nonsense' AS 'x:json'"),
        ("bool", "query-one", "SELECT 'yes' AS 'x:bool'"),
    ]);
    for (event, part) in [
        ("infinite", "is infinite"),
        ("text", "is not UTF-8"),
        ("json", "is not JSON"),
        ("bool", "neither true nor false"),
    ] {
        let (code, status, message) = failed(&db, event, json!(null));
        assert_eq!((code.as_str(), status), ("failed", 500));
        assert!(
            message.starts_with("the column `x` ") && message.contains(part),
            "{message}"
        );
    }
}

#[test]
fn missing_field_is_named() {
    let db = open(&[ADD]);
    assert_eq!(
        failed(&db, "add", json!({"sku": "tea"})),
        (
            "bad-payload".to_owned(),
            400,
            "the payload has no field `price`; expected `sku`, `price`, `shop`".to_owned()
        )
    );
    assert_eq!(
        failed(&db, "add", json!(["tea"])),
        (
            "bad-payload".to_owned(),
            400,
            "the payload is an array; expected an object with `sku`, `price`, `shop`".to_owned()
        )
    );
}

#[test]
fn payload_that_is_not_an_object_is_the_only_parameter() {
    let db = open(&[
        ADD,
        ONE,
        (
            "among",
            "query",
            "SELECT sku FROM products WHERE id IN (SELECT value FROM json_each(:ids))",
        ),
    ]);
    ok(&db, "add", product("tea"));
    assert_eq!(ok(&db, "one", json!("tea")), json!({"id": 1, "sku": "tea"}));
    assert_eq!(ok(&db, "among", json!([1, 2])), json!([{"sku": "tea"}]));
    assert_eq!(
        failed(&db, "one", json!(null)),
        (
            "bad-payload".to_owned(),
            400,
            "the payload is null; expected an object with `sku`".to_owned()
        )
    );
}

#[test]
fn integer_beyond_64_bits_signed_is_a_bad_payload() {
    let db = open(&[ADD]);
    let (code, _, message) = failed(&db, "add", json!({"sku": "tea", "price": u64::MAX, "shop": null}));
    assert_eq!(code, "bad-payload");
    assert!(message.contains("field `price` is 18446744073709551615"), "{message}");
}

#[test]
fn constraints_tell_conflicts_from_mistakes_of_the_module() {
    let db = open(&[ADD]);
    ok(&db, "add", product("tea"));
    for (payload, expected) in [
        (product("tea"), ("conflict", 409, "another row has the same key")),
        (
            json!({"sku": "a", "price": 1, "shop": 7}),
            ("conflict", 409, "a row refers to another that does not exist"),
        ),
        (product("gold"), ("conflict", 409, "gold is not for sale")),
        (
            json!({"sku": null, "price": 1, "shop": null}),
            ("failed", 500, "the database failed"),
        ),
        (
            json!({"sku": "a", "price": -1, "shop": null}),
            ("failed", 500, "the database failed"),
        ),
    ] {
        let (code, status, message) = failed(&db, "add", payload);
        assert_eq!((code.as_str(), status, message.as_str()), expected);
    }
}

#[test]
fn failure_keeps_the_message_of_sqlite_for_the_log() {
    let db = open(&[ADD]);
    ok(&db, "add", product("tea"));
    let error = run(&db, "add", &product("tea")).expect_err("it exists already");
    let source = error.source().expect("a source").to_string();
    assert!(source.contains("products.sku"), "{source}");
}

/// A clock on which a millisecond passes at each look.
#[derive(Debug)]
struct TickingClock(Mutex<Instant>);

impl TimeSource for TickingClock {
    fn now(&self) -> Instant {
        let mut now = self.0.lock().expect("no panic");
        *now += MILLISECOND;
        *now
    }

    fn sleep_until(&self, _: Instant) -> Sleep {
        Box::pin(std::future::pending())
    }

    fn register_thread(&self) {}
}

/// A query that counts for ever, or up to a number.
fn counting(condition: &str) -> String {
    format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {condition}) SELECT max(i) AS i FROM n")
}

#[test]
fn statement_ends_at_its_deadline() {
    let (endless, long) = (counting(""), counting("WHERE i < 100000"));
    let db = open(&[("endless", "query-one", &endless), ("long", "query-one", &long)]);
    let run = |event, clock: &Clock, time| {
        let deadline = Some(clock.now() + time);
        run_as(&db, event, &json!(null), &limits(clock, deadline))
    };
    let ticking = Clock::new(Arc::new(TickingClock(Mutex::new(Clock::real().now()))));
    for time in [100 * MILLISECOND, Duration::ZERO] {
        let failure = run("endless", &ticking, time).expect_err("it has no result").failure;
        assert_eq!(*failure.code(), FailureCode::DEADLINE, "{time:?}");
    }
    let standing = TestClock::new().clock();
    let result = run("long", &standing, Duration::from_nanos(1));
    assert_eq!(result.expect("the deadline has not come"), json!({"i": 100_000}));
}

/// Adds a product with this time until its deadline while the test holds the only connection that writes. Returns when the call
/// waits for the connection: the time, what returns the connection, and the result of the call.
async fn wait_for_writer(
    time_left: Option<Duration>,
) -> (TestClock, mpsc::Sender<()>, mpsc::Receiver<Result<Value, EventError>>) {
    let (db, time) = (Arc::new(open(&[ADD])), TestClock::new());
    let (taken, is_taken) = mpsc::channel();
    let (returned, is_returned) = mpsc::channel();
    let holder = db.clone();
    let hold = move |_: &Connection| {
        taken.send(()).expect("the test waits");
        is_returned.recv().map_err(|_| unreachable!("the test returns it"))
    };
    thread::spawn(move || {
        holder
            .connections
            .writer
            .with(&limits(&Clock::real(), None), false, hold)
    });
    is_taken.recv().expect("the connection is free");
    let (results, result) = mpsc::channel();
    let clock = time.clone();
    thread::spawn(move || {
        clock.register_thread();
        let deadline = time_left.map(|left| clock.now() + left);
        let result = run_as(&db, "add", &product("tea"), &limits(&clock.clock(), deadline));
        results.send(result)
    });
    let limit = time_left.unwrap_or(PATIENCE).min(PATIENCE);
    time.until_timer(limit).await;
    time.advance(limit - MILLISECOND).await;
    assert!(result.try_recv().is_err(), "the call waits to its limit");
    (time, returned, result)
}

#[tokio::test]
async fn call_without_a_connection_fails_at_its_limit() {
    for (time_left, code) in [
        (Some(PATIENCE - MILLISECOND), FailureCode::DEADLINE),
        (Some(PATIENCE), FailureCode::DEADLINE),
        (Some(PATIENCE + MILLISECOND), FailureCode::OVERLOADED),
        (None, FailureCode::OVERLOADED),
    ] {
        let (time, _returned, result) = wait_for_writer(time_left).await;
        time.advance(MILLISECOND).await;
        let failure = result.try_recv().expect("the limit has come");
        assert_eq!(*failure.expect_err("it fails").failure.code(), code, "{time_left:?}");
    }
}

#[tokio::test]
async fn connection_that_returns_before_the_limit_is_used() {
    let (_time, returned, result) = wait_for_writer(Some(PATIENCE)).await;
    returned.send(()).expect("it is held");
    assert_eq!(result.recv().expect("it ends").expect("a connection"), json!(1));
}

#[test]
fn rows_beyond_the_longest_result_are_not_read() {
    let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < :n) SELECT x FROM n";
    let adds = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < :n)
        INSERT INTO products (sku) SELECT x FROM n RETURNING id";
    let db = open(&[("numbers", "query", numbers), ("add", "query", adds), ALL]);
    let run = Run {
        most: 23,
        ..limits(&Clock::real(), None)
    };
    let result = |event, number: i64| run_as(&db, event, &json!(number), &run);
    assert_eq!(result("numbers", 2).expect("it fits"), json!([{"x": 1}, {"x": 2}]));
    for (event, number) in [("numbers", i64::MAX), ("add", 10)] {
        let failure = result(event, number).expect_err("it is longer").failure;
        assert_eq!(*failure.code(), FailureCode::TOO_LARGE);
        assert_eq!(
            failure.message(),
            "the result has more than 23 bytes, the limit `payload`"
        );
    }
    assert_eq!(
        ok(&db, "all", json!(null)),
        json!([]),
        "a change without its result is taken back"
    );
}

#[test]
fn value_ends_at_its_longest_length() {
    let db = open(&[("blank", "query-one", "SELECT length(hex(zeroblob(:n))) AS n")]);
    assert_eq!(ok(&db, "blank", json!(4_000_000)), json!({"n": 8_000_000}));
    let (code, status, message) = failed(&db, "blank", json!(400_000_000));
    assert_eq!((code.as_str(), status), ("too-large", 413));
    assert_eq!(message, "a value or a row has more than 64 MiB");
}

#[test]
fn statement_that_nobody_waits_for_ends_if_it_only_reads() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS x FROM n";
    let db = open(&[("endless", "query-one", endless), ADD]);
    let run = limits(&Clock::real(), None);
    let gone = run.is_cancelled.clone();
    thread::scope(|scope| {
        let call = scope.spawn(|| run_as(&db, "endless", &json!(null), &run));
        gone.store(true, Ordering::Relaxed);
        let failure = call.join().expect("it ends").expect_err("nobody waits").failure;
        assert!(matches!(failure.code().as_str(), "gone" | "deadline"), "{failure}");
    });
    let failure = run_as(&db, "add", &product("tea"), &run)
        .expect_err("it has not begun")
        .failure;
    assert_eq!(*failure.code(), FailureCode::GONE);
}

#[test]
fn readers_read_while_others_write() {
    let db = open(&[ADD, ALL]);
    thread::scope(|scope| {
        for thread in 0..8 {
            let db = &db;
            scope.spawn(move || {
                for turn in 0..20 {
                    ok(db, "add", product(&format!("{thread}-{turn}")));
                    ok(db, "all", json!(null));
                }
            });
        }
    });
    assert_eq!(ok(&db, "all", json!(null)).as_array().map(Vec::len), Some(160));
}

#[test]
fn invalid_statement_is_refused_with_its_event() {
    for (kind, sql, cause, hint) in [
        ("query", "SELECT prce FROM products", "no such column: prce", ""),
        ("query", "SELEC 1", "near \"SELEC\": syntax error", ""),
        (
            "query",
            "SELECT 1; SELECT 2",
            "it is several statements",
            "an event runs one statement",
        ),
        ("query", "DELETE FROM products", "it returns no rows", "use `execute`"),
        ("execute", "SELECT 1", "it changes nothing", "use `query`"),
        ("query", "SELECT ? AS x", "parameter 1 has no name", "write `:name`"),
        (
            "query",
            "SELECT 1 AS x, 2 AS 'x:bool'",
            "it returns two columns `x`",
            "with `AS`",
        ),
        ("query", "", "it returns no rows", "use `execute`"),
    ] {
        let setting = Setting::new(&[("a", kind, sql)]);
        let (kind, sentence, reason, advice) = refusal(&setting);
        assert_eq!(kind, ErrorKind::Statement);
        assert_eq!(sentence, "the statement of event `a` is invalid");
        assert_eq!(setting.open().expect_err("refused again").event(), Some("a"));
        assert_eq!(reason, cause, "{sql}");
        assert!(advice.contains(hint), "{sql}: {advice}");
    }
}

#[test]
fn invalid_schema_is_refused_with_its_line_and_changes_nothing() {
    let setting = Setting::new(&[]);
    setting.write(
        "schema.sql",
        "CREATE TABLE a (id INTEGER);\n\nCREATE TABLE b (id INTEGER,,);\n",
    );
    let (kind, sentence, cause, hint) = refusal(&setting);
    assert_eq!(kind, ErrorKind::Schema);
    assert!(sentence.ends_with("schema.sql:3` fails"), "{sentence}");
    assert_eq!(cause, "near \",\": syntax error");
    assert!(hint.contains("IF NOT EXISTS"), "{hint}");
    // Had the first statement stayed, the table would be there already.
    setting.write("schema.sql", "CREATE TABLE a (id INTEGER);");
    setting.open().expect("nothing was left behind");
}

#[test]
fn missing_schema_is_named() {
    let setting = Setting::new(&[]);
    std::fs::remove_file(setting.path("schema.sql")).expect("removed");
    let (kind, sentence, ..) = refusal(&setting);
    assert_eq!(kind, ErrorKind::Schema);
    assert!(
        sentence.starts_with("cannot read the schema `") && sentence.ends_with("schema.sql`"),
        "{sentence}"
    );
}

#[test]
fn database_that_cannot_be_opened_is_named() {
    let setting = Setting::new(&[]);
    std::fs::create_dir_all(setting.path("data/shop.sqlite")).expect("created");
    let (kind, sentence, ..) = refusal(&setting);
    assert_eq!(kind, ErrorKind::Database);
    assert!(sentence.starts_with("cannot open the database `"), "{sentence}");
    assert!(sentence.ends_with("shop.sqlite`"), "{sentence}");
}

#[test]
fn events_are_those_of_the_options() {
    assert_eq!(open(&[ONE, ADD]).events().collect::<Vec<_>>(), ["add", "one"]);
}
