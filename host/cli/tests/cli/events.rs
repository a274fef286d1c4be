//! `pointwork events`, and durable channels of a configuration (spec N1, N3, N6).

use pointwork_suite::guest::{Channel, Controller, Guest, Program};
use serde_json::{Value, json};

use crate::server::Server;
use crate::{Says, folder, refused, run, stderr, write};

const CONFIGURATION: &str = r#"
[admin]
socket = "admin.sock"
[journal]
path = "data/events.sqlite"
[durable.mail]
store = "sqlite"
id = "/id"
[[module]]
path = "shop.wasm"
"#;

const MAIL: &str = "[[module]]\npath = \"mail.wasm\"\n";

/// `POST /order` emits an order.
fn shop() -> Vec<u8> {
    let order = Program::text(r#"{"id":7}"#).emit("mail:order");
    Guest::with(Controller::new("Shop", "").route("order", Some("POST"), &["order"], order)).build()
}

fn mail(listener: Program) -> Vec<u8> {
    Guest::new().channel(Channel::new("mail").on("order", listener)).build()
}

fn printed(folder: &impl AsRef<std::path::Path>, arguments: &str) -> String {
    let output = run(folder, arguments).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn channel(folder: &impl AsRef<std::path::Path>) -> Value {
    serde_json::from_str::<Value>(&printed(folder, "events --json")).expect("JSON")[0].take()
}

#[test]
fn order_survives_a_kill_and_its_dead_letter_is_delivered_again() {
    let folder = folder();
    write(&folder, "shop.wasm", shop());
    write(&folder, "pointwork.toml", CONFIGURATION);
    let server = Server::start(folder.path(), [""; 0]);
    server.logged("nobody listens to the durable channel: its events wait channel=\"mail\"");
    assert_eq!(server.send("POST", "/order", None).status, 200);
    // A second order of the id is the same one.
    assert_eq!(server.send("POST", "/order", None).status, 200);
    printed(&folder, "events").says(["CHANNEL", "mail"]);
    assert_eq!(channel(&folder)["waiting"], json!(1));
    server.signal("KILL");
    server.ends("SIGKILL");

    write(&folder, "mail.wasm", mail(Program::new().fails("unknown", 404)));
    write(&folder, "pointwork.toml", [CONFIGURATION, MAIL].concat());
    let server = Server::start(folder.path(), [""; 0]);
    server.until(|| channel(&folder)["dead-letters"] == json!(1));
    printed(&folder, "events dead mail").says(["mail:order:7  1  ", "(404, code `unknown`)", "{\"id\":7}"]);
    let shown: Value = serde_json::from_str(&printed(&folder, "events show mail:order:7")).expect("JSON");
    assert_eq!((&shown["payload"], &shown["attempts"]), (&json!({"id": 7}), &json!(1)));
    let metrics = server.admin("GET", "/metrics", b"");
    metrics
        .body
        .says(["pointwork_durable_dead_letters{channel=\"mail\"} 1"]);

    write(&folder, "mended.wasm", mail(Program::new()));
    run(&folder, "swap mail mended.wasm").assert().success();
    printed(&folder, "events retry mail:order:7").says(["`mail:order:7` is delivered again"]);
    server.until(|| channel(&folder)["delivered"] == json!(1));
    let settled = channel(&folder);
    assert_eq!((&settled["waiting"], &settled["dead-letters"]), (&json!(0), &json!(0)));
    refused(run(&folder, "events drop mail:order:7"), 1).stderr_eq("error: no dead letter has the id `mail:order:7`\n");
}

#[cfg(target_os = "linux")]
#[test]
fn order_is_refused_by_a_full_disk_and_none_is_lost() {
    let folder = folder();
    write(&folder, "shop.wasm", shop());
    write(&folder, "pointwork.toml", CONFIGURATION.replace("id = \"/id\"", ""));
    let server = crate::disk::start(folder.path());
    let order = || server.send("POST", "/order", None).status;
    assert_eq!(order(), 200);
    let journal = folder.path().join("data/events.sqlite-wal");
    let size = std::fs::metadata(journal).expect("it is there").len();
    crate::disk::limit(&server, &(size + 20_000).to_string());
    let (mut confirmed, mut refused) = (1, 0);
    while refused < 3 {
        match order() {
            200 => confirmed += 1,
            503 => refused += 1,
            other => panic!("{other} after {confirmed} orders"),
        }
        assert!(confirmed < 1_000, "the disk is never full");
    }
    crate::disk::limit(&server, "unlimited");
    assert_eq!(order(), 200);
    let waiting = channel(&folder)["waiting"].as_u64().expect("a number");
    // One that was refused may be recorded all the same.
    assert!(
        (confirmed + 1..=confirmed + 1 + refused).contains(&waiting),
        "{confirmed}, {refused}, {waiting}"
    );
}

#[test]
fn what_is_not_there_is_named() {
    let folder = folder();
    write(&folder, "pointwork.toml", CONFIGURATION);
    write(&folder, "shop.wasm", shop());
    let _server = Server::start(folder.path(), [""; 0]);
    stderr(run(&folder, "events dead orders"), 1).says(["there is no durable channel `orders`; durable: `mail`"]);
    stderr(run(&folder, "events show 7"), 2).says(["`7` is no id of an event", "events dead CHANNEL"]);
    stderr(run(&folder, "events retry"), 2).says(["<ID>..."]);
    assert_eq!(printed(&folder, "events dead mail"), "");
    let journal = folder.path().join("data/events.sqlite");
    let second = folder.path().join("second.toml");
    write(
        &folder,
        "second.toml",
        CONFIGURATION.replace("admin.sock", "second.sock"),
    );
    let refusal = stderr(
        run(
            &folder,
            &format!("serve --listen 127.0.0.1:0 --config {}", second.display()),
        ),
        3,
    );
    refusal.says([
        &format!("another process has the journal `{}`", journal.display()),
        "a file of its own",
    ]);
}
