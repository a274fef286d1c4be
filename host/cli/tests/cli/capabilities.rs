//! The imports of a module, the grants of a configuration, and the errors where they do not match.

use std::path::Path;

use pointwork_suite::guest::{Channel, Guest, Program};
use snapbox::str;
use tempfile::TempDir;

use crate::example::{self, Example};
use crate::server::Server;
use crate::{folder, pointwork, refused, run, stderr, write};

/// A folder with a channel module `store.wasm` that imports directories.
fn store() -> TempDir {
    let folder = folder();
    let store = Guest::new()
        .channel(
            Channel::new("db")
                .on("one", Program::text("1"))
                .on("two", Program::text("2")),
        )
        .importing("wasi:filesystem/types@0.2.6");
    write(&folder, "store.wasm", store.build());
    folder
}

/// The same with a configuration; the first key of the grant is in line 4.
fn granted(keys: &str) -> TempDir {
    let folder = store();
    grant(folder.path(), keys);
    folder
}

fn grant(folder: &Path, keys: &str) {
    let config = format!("[[module]]\npath = \"store.wasm\"\n[module.grant]\n{keys}\n");
    write(folder, "pointwork.toml", &config);
}

#[test]
fn invalid_grant_is_refused_with_file_line_and_column() {
    for (keys, message) in [
        (
            "clock = true",
            "unknown key `clock` in pointwork.toml:4:1\nhint: did you mean `clocks`?",
        ),
        (
            "clocks = \"yes\"",
            "invalid type: string, expected a boolean in pointwork.toml:4:10",
        ),
        (
            "environment = { PORT = \"80\" }",
            "invalid type: map, expected a boolean in pointwork.toml:4:15",
        ),
        (
            "environment = true\n[module.variables]\nPIN = 424242",
            "the value of a variable is a number, expected a string, { env = \"HOST_VARIABLE\" } or { file = \"PATH\" } in \
             pointwork.toml:6:7",
        ),
        (
            "directories = [{ host = \".\", guest = \"data\" }]",
            "`data` is not a path in a module in pointwork.toml:4:38\n\
             hint: expected an absolute path without `.`, `..` and double slashes, as in `/data`",
        ),
        (
            "directories = [{ host = \".\", guest = \"/a\" }, { host = \".\", guest = \"/a\" }]",
            "two directories have the path `/a` in pointwork.toml:4:68\nhint: give each directory a path of its own in the module",
        ),
        (
            "directories = [{ host = \".\", guest = \"/a\", access = \"write\" }]",
            "unknown value `write` in pointwork.toml:4:53\nhint: expected `read-only` or `read-write`",
        ),
        (
            "directories = [{ guest = \"/a\" }]",
            "missing key `host` in pointwork.toml:4:16",
        ),
        (
            "directories = [{ host = \"store.wasm\", guest = \"/a\" }]",
            "the directory `store.wasm`, granted to module `store` in pointwork.toml:4:25, is not a directory",
        ),
        (
            "directories = [{ host = \"data\", guest = \"/a\" }]",
            "the directory `data`, granted to module `store` in pointwork.toml:4:25, does not exist\n\
             hint: create it, or grant it with `access = \"read-write\"`: then the server creates it",
        ),
        (
            "sockets = [\"db.internal\"]",
            "`db.internal` has no port; expected host and port, as in `127.0.0.1:5432`, `[::1]:5432` or \
             `db.internal:5432` in pointwork.toml:4:12",
        ),
        (
            "http = [\"api.example.com\", \"*.example.com\"]",
            "`*.example.com` does not name a host; expected a host without scheme and path, as in `api.example.com`, \
             `127.0.0.1:8080` or `[::1]:8080` in pointwork.toml:4:28",
        ),
    ] {
        let folder = granted(keys);
        for command in ["serve", "routes"] {
            let text = stderr(pointwork(&folder).arg(command), 3);
            assert_eq!(text, format!("error: {message}\n"), "{command}");
        }
    }
}

#[test]
fn module_that_is_wrong_is_refused_with_file_line_and_column() {
    for (keys, message) in [
        (
            "instances = 0",
            "`0` is invalid for `instances`: expected a whole number from 1 in pointwork.toml:3:13",
        ),
        (
            "memory = \"lots\"",
            "`\"lots\"` is invalid for `memory`: expected a size, as in \"2MiB\", or a number of bytes in pointwork.toml:3:10",
        ),
        (
            "target = \"wasm32-wasip2\"",
            "`target` without `build` in pointwork.toml:3:10\n\
             hint: cargo builds the package that `build` names for this target",
        ),
        (
            "grants = {}",
            "unknown key `grants` in pointwork.toml:3:1\nhint: did you mean `grant`?",
        ),
        (
            "[limits]\nevent-queue = 0",
            "`0` is invalid for `event-queue`: expected a whole number from 1 in pointwork.toml:4:15",
        ),
    ] {
        let folder = store();
        let config = format!("[[module]]\npath = \"store.wasm\"\n{keys}\n");
        write(&folder, "pointwork.toml", config);
        let text = stderr(run(&folder, "serve"), 3);
        assert_eq!(text, format!("error: {message}\n"));
    }
}

#[test]
fn module_without_a_needed_grant_is_refused_with_the_lines_to_add() {
    let folder = granted("clocks = true");
    refused(run(&folder, "serve"), 5).stderr_eq(str![[r#"
error: module `store` from `store.wasm` is refused
  caused by: imports `wasi:filesystem/types@0.2.6`, which it was not granted
hint: a module without channels is never granted anything: its controllers call channels instead, and are built for wasm32-wasip1, from which `pointwork build` makes components without WASI
      a module with channels is granted these interfaces, with nothing behind them, by lines below its [[module]]:

      [module.grant]
      directories = []

"#]]);
}

#[test]
fn component_is_checked_without_any_grant() {
    let folder = store();
    run(&folder, "check store.wasm")
        .assert()
        .code(5)
        .stdout_eq(str![[r#"
store.wasm is refused
  size     [..] bytes)
  asks     directories
  granted  nothing
  imports  pointwork:module/types@0.2.0
...
  beyond   wasi:filesystem/types@0.2.6
...
"#]])
        .stderr_eq(str![[r#"
error: `store.wasm` is refused
  caused by: imports `wasi:filesystem/types@0.2.6`, which it was not granted
hint: a module without channels is never granted anything: its controllers call channels instead, and are built for wasm32-wasip1, from which `pointwork build` makes components without WASI
      a module with channels is granted these interfaces, with nothing behind them, by lines below its [[module]]:

      [module.grant]
      directories = []

"#]]);
}

#[test]
fn component_is_checked_with_the_grants_of_a_configuration() {
    let folder = Example::Components.built();
    run(
        &folder,
        "check ./target/pointwork/products-store.wasm --config components.toml",
    )
    .assert()
    .success()
    .stderr_eq("")
    .stdout_eq(str![[r#"
./target/pointwork/products-store.wasm fits the contract
  form     asynchronous
  contract pointwork:module@0.2.0
  routes   0
  channels db: [..]product:all[..]
           response: send
  uses     nothing
  digest   sha256:[..]
  size     [..] bytes)
  asks     clocks
           random
           output
           environment
           directories
  granted  clocks
           random
           output
           environment
           directories /data (read-write)
  vars     STORE_DIR
...
"#]]);
    assert!(!folder.path().join("data").exists(), "a look changes nothing");
}

#[test]
fn component_that_the_configuration_does_not_load_is_not_checked_with_it() {
    let folder = granted("directories = []");
    std::fs::copy(folder.path().join("store.wasm"), folder.path().join("other.wasm")).expect("copied");
    refused(run(&folder, "check other.wasm -c pointwork.toml"), 2).stderr_eq(str![[r#"
error: no module of `pointwork.toml` is loaded from `other.wasm`
hint: its modules are loaded from `store.wasm`

"#]]);
}

#[test]
fn grants_are_listed_without_the_values_of_variables() {
    let folder = folder();
    let module = Guest::new().channel(Channel::new("shop").on("open", Program::new()));
    write(&folder, "shop.wasm", module.build());
    let config = "[[module]]\npath = \"shop.wasm\"\nvariables = { TOKEN = { env = \"SHOP_TOKEN\" }, LANG = \"C\" }\n\
        [module.grant]\nenvironment = true\nsockets = [\"127.0.0.1:5432\"]\nhttp = []\n";
    write(&folder, "pointwork.toml", config);
    let server = Server::start_with(folder.path(), [""; 0], |command| {
        command.env("SHOP_TOKEN", "open sesame");
    });
    let table = server
        .banner
        .split_once("MODULE  ASKS")
        .expect("a table of capabilities")
        .1;
    snapbox::assert_data_eq!(
        table.split("\n\n").next().unwrap_or_default(),
        "     GRANTED\nshop    nothing  environment; sockets 127.0.0.1:5432; http none"
    );
    assert!(!server.banner.contains("sesame"), "{}", server.banner);
}

#[test]
fn component_with_many_imports_has_a_line_for_each() {
    let folder = folder();
    std::fs::copy(example::store(), folder.path().join("store.wasm")).expect("copied");
    let text = stderr(run(&folder, "serve store.wasm"), 5);
    let lines = "
      [module.grant]
      clocks = true
      random = true
      output = true
      environment = true
      directories = []
";
    assert!(text.contains(lines), "{text}");
}
