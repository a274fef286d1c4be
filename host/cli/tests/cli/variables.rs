//! The variables of a module in the command (spec V).

use std::fs;
use std::path::Path;

use pointwork_suite::guest::{Controller, Guest, Program, Step};
use serde_json::json;
use snapbox::str;
use tempfile::TempDir;

use crate::server::Server;
use crate::{folder, pointwork, stderr, write};

/// Values that stand nowhere else.
const SECRETS: [&str; 3] = ["sesame-of-the-text", "sesame-of-the-host", "sesame-of-the-file"];

/// A component that answers `GET /it` with the number and its variables.
fn tells(number: u64) -> Guest {
    let program = Program::text(&format!("{number}:")).step(Step::Variables);
    Guest::with(Controller::new("Shop", "").get("it", program))
}

/// A folder with a component, its configuration, and a file with a secret.
fn configured(more: &str) -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("shop.wasm"), tells(1).build()).expect("written");
    let config = format!(
        "{more}\n[[module]]\npath = \"shop.wasm\"\n[module.variables]\n\
         TEXT = \"{}\"\nHOST = {{ env = \"SHOP_TOKEN\" }}\nFILE = {{ file = \"secrets/token\" }}\n",
        SECRETS[0]
    );
    write(folder.path(), "pointwork.toml", &config);
    write(folder.path(), "secrets/token", format!("{}\n", SECRETS[2]));
    folder
}

fn start(folder: &Path) -> Server {
    Server::start_with(folder, [""; 0], |command| {
        command.env("SHOP_TOKEN", SECRETS[1]).env("RUST_LOG", "trace");
    })
}

fn told(number: u64, file: &str) -> String {
    format!("{number}:FILE={file}\nHOST={}\nTEXT={}\n", SECRETS[1], SECRETS[0])
}

/// The files below a folder that contain a secret.
fn with_a_secret(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(with_a_secret(&path));
        } else {
            let content = fs::read(&path).expect("a file");
            let has = |secret: &&&str| content.windows(secret.len()).any(|part| part == secret.as_bytes());
            found.extend(SECRETS.iter().find(has).map(|_| path.display().to_string()));
        }
    }
    found
}

#[test]
#[cfg(unix)]
fn values_of_variables_are_not_written_and_not_shown() {
    let folder = configured("[admin]\nsocket = \"admin.sock\"\n[state]\ndirectory = \"state\"");
    let server = start(folder.path());
    assert_eq!(server.get("/it").body, told(1, SECRETS[2]));
    let two = tells(2).build();
    let mut shown = vec![server.banner.clone()];
    shown.push(server.admin("PUT", "/modules/shop", &two).body);
    assert_eq!(server.get("/it").body, told(2, SECRETS[2]), "an upload has them too");
    for target in ["/modules", "/modules/shop", "/routes", "/metrics", "/ready"] {
        shown.push(server.admin("GET", target, b"").body);
    }
    assert!(
        shown
            .iter()
            .any(|text| text.contains(r#""variables":["FILE","HOST","TEXT"]"#)),
        "{shown:?}"
    );
    // The file with a secret that is no text.
    fs::write(
        folder.path().join("secrets/token"),
        [SECRETS[2].as_bytes(), b"\xff"].concat(),
    )
    .expect("written");
    let refused = server.admin("POST", "/modules/shop/rollback", b"");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.body.contains("`FILE`") && refused.body.contains("not UTF-8"),
        "{refused:?}"
    );
    shown.push(refused.body);
    shown.push(server.logged("a change of the module is refused"));
    let end = server.stop("TERM");
    shown.extend([end.output, end.errors]);
    for text in shown {
        assert!(!text.contains("sesame"), "{text}");
    }
    assert_eq!(with_a_secret(&folder.path().join("state")), [""; 0]);
}

#[test]
#[cfg(unix)]
fn values_are_read_at_a_swap_a_roll_back_and_a_restart() {
    let folder = configured("[admin]\nsocket = \"admin.sock\"\n[state]\ndirectory = \"state\"");
    let server = start(folder.path());
    let file = |text: &str| write(folder.path(), "secrets/token", text);
    let put = |number| server.admin("PUT", "/modules/shop", &tells(number).build()).json()["kind"].clone();
    assert_eq!(put(1), json!("unchanged"));
    file("two");
    assert_eq!(
        server.get("/it").body,
        told(1, SECRETS[2]),
        "a version keeps its values"
    );
    assert_eq!(put(1), json!("swapped"), "with another value it is another version");
    assert_eq!(server.get("/it").body, told(1, "two"));
    assert_eq!(put(2), json!("swapped"));
    file("three");
    assert_eq!(server.admin("POST", "/modules/shop/rollback", b"").status, 200);
    assert_eq!(server.get("/it").body, told(1, "three"));
    file("four");
    server.stop("KILL");
    assert_eq!(start(folder.path()).get("/it").body, told(1, "four"));
    fs::remove_file(folder.path().join("secrets/token")).expect("it was there");
    let command = pointwork(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
    let text = stderr(command.env("SHOP_TOKEN", SECRETS[1]), 5);
    assert!(
        text.contains("the variable `FILE` has no value: the file `secrets/token` cannot be read"),
        "{text}"
    );
}

#[test]
fn missing_variable_refuses_the_start_by_its_name() {
    let folder = configured("");
    pointwork(folder.path())
        .env_remove("SHOP_TOKEN")
        .arg("serve")
        .assert()
        .code(5)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: module `shop` from `shop.wasm` is refused
  caused by: the variable `HOST` has no value: the environment variable `SHOP_TOKEN` is not set
hint: set it in the environment of the server

"#]]);
}

#[test]
fn needed_variable_refuses_the_start_with_the_lines_to_add() {
    let folder = folder();
    let schema = r#"{ "properties": { "PORT": { "type": "integer" } }, "required": ["PORT", "odd name"] }"#;
    let component = tells(1).metadata("variables-schema", schema).build();
    fs::write(folder.path().join("shop.wasm"), component).expect("written");
    pointwork(folder.path())
        .args(["check", "shop.wasm"])
        .assert()
        .code(5)
        .stderr_eq(str![[r#"
error: `shop.wasm` is refused
  caused by: it needs the variables `PORT`, `odd name`, which are not configured
hint: set them below its [[module]]:

      [module.variables]
      PORT = "…"
      "odd name" = "…"

"#]]);
    let config = "[[module]]\npath = \"shop.wasm\"\n[module.variables]\nPORT = \"many\"\n\"odd name\" = \"\"\n";
    write(folder.path(), "pointwork.toml", config);
    let text = stderr(
        pointwork(folder.path()).args(["check", "shop.wasm", "-c", "pointwork.toml"]),
        5,
    );
    assert!(
        text.contains("caused by: the variable `PORT` does not fit: expected a whole number\n"),
        "{text}"
    );
    write(folder.path(), "pointwork.toml", config.replace("many", "80"));
    pointwork(folder.path())
        .args(["check", "shop.wasm", "-c", "pointwork.toml"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
...
  granted  nothing
  vars     PORT
           odd name
...
"#]]);
}
