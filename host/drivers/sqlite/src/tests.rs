use std::error::Error as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

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

fn run(db: &Sqlite, event: &str, payload: &Value, deadline: Option<Instant>) -> Result<Value, EventError> {
    db.connections
        .run(&db.statements[event], payload, &Clock::real(), deadline)
}

fn ok(db: &Sqlite, event: &str, payload: Value) -> Value {
    run(db, event, &payload, None).expect("it runs")
}

fn failed(db: &Sqlite, event: &str, payload: Value) -> (String, u16, String) {
    let failure = run(db, event, &payload, None).expect_err("it fails").failure;
    let code = failure.code().as_str().to_owned();
    (code, failure.status().as_u16(), failure.message().to_owned())
}

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
fn constraints_tell_conflict_from_bad_values() {
    let db = open(&[ADD]);
    ok(&db, "add", product("tea"));
    for (payload, expected) in [
        (product("tea"), ("conflict", 409, "another row has the same `sku`")),
        (
            json!({"sku": "a", "price": 1, "shop": 7}),
            ("conflict", 409, "a row refers to another that does not exist"),
        ),
        (product("gold"), ("conflict", 409, "gold is not for sale")),
        (
            json!({"sku": null, "price": 1, "shop": null}),
            ("bad-payload", 400, "`sku` must not be null"),
        ),
        (
            json!({"sku": "a", "price": -1, "shop": null}),
            ("bad-payload", 400, "the values break the rule `price_is_positive`"),
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
    let error = run(&db, "add", &product("tea"), None).expect_err("it exists already");
    let source = error.source().expect("a source").to_string();
    assert!(source.contains("products.sku"), "{source}");
}

#[test]
fn endless_statement_ends_at_its_deadline() {
    let db = open(&[(
        "endless",
        "query-one",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    )]);
    // Only the deadline can end it.
    let (sender, results) = mpsc::channel();
    thread::spawn(move || {
        let began = Instant::now();
        for deadline in [began + Duration::from_millis(50), began] {
            let result = run(&db, "endless", &json!(null), Some(deadline));
            sender.send(result).expect("received");
        }
    });
    for when in ["in time", "too late"] {
        let result = results.recv_timeout(Duration::from_secs(60)).expect("it ends");
        let failure = result.expect_err("it has no result").failure;
        assert_eq!(*failure.code(), FailureCode::DEADLINE, "{when}");
    }
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
