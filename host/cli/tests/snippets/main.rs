//! The documents stay true: every snippet in them is compiled, read or run.
//!
//! A test follows a document from top to bottom, as a user does, in a folder of its own. The language of a block decides:
//!
//! | language | test |
//! |---|---|
//! | `sh` | each command is run and has to succeed |
//! | `console` | the same, and the output is compared; `…` stands for anything, alone on a line for any lines |
//! | `text` | compared with the new output of the server that runs |
//! | `diff` | applied to the file that its first line names |
//! | `toml` | read by cargo if it is a part of a `Cargo.toml`, else by the command |
//! | `c` | run by the tests of the binding |
//! | `python` | run in the environment of the project of the folder, or by the tests of the binding or of the package `guest/python` |
//! | `ts` | checked by the compiler in the project of the folder, or run by the tests of the package `guest/js` |
//! | `rust` | a doctest of `tests/suite/src/lib.rs`, or found as it stands in a program of `examples` or of the folder |
//!
//! Anything else is an error, and so is a block without a language. [`EXCEPTIONS`] lists the commands and blocks that are
//! not run, each with the reason.
#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "it prints what it runs, and what it does not run")]

mod markdown;
mod session;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::session::Session;

/// A document that a test follows.
struct Page {
    path: &'static str,
    /// Where its commands begin: in a clone, or in the folder around one.
    begins: &'static str,
}

const CLONE: &str = "pointwork";
const AROUND: &str = "";

/// A command, or the first line of a block, that is not run, with the reason.
struct Exception {
    page: &'static str,
    text: &'static str,
    reason: &'static str,
}

/// Reasons of several commands.
const ORDERS: &str = "cli::orders runs the example on free ports";
const SLOW: &str = "a part of `tests/run`";
const RELEASE: &str = "a release; `.ci/package` makes the packages and compiles them";
const RELEASE_BUILD: &str = "a build of the release takes minutes";
const POLYGLOT: &str = "the test `cli` runs the programs with what cargo has built, and swaps in them";
const PERF: &str = "needs perf, inferno and a release build; the test `cli` serves with `--perf-map`";
const NPM: &str = "the tests of the package build modules, by npm; none serves them";
const PIP: &str = "the tests of the package build modules and serve them";
const OTHER: &str = "needs C compilers for the other platform";

const EXCEPTIONS: &[Exception] = &[
    not_run("README.md", "tests/run", "this test is a part of it"),
    not_run(
        "ARCHITECTURE.md",
        "  client ── framework's server ── adapter ── core ──┬── native handler",
        "a picture",
    ),
    not_run(
        "ARCHITECTURE.md",
        " 1 adapter ──► 2 router ──► 3 exchange ──► 4 dispatcher ──► 5 handler ──► 6 guest",
        "a picture",
    ),
    not_run("CONTRIBUTING.md", "tests/run --quick", SLOW),
    not_run(
        "CONTRIBUTING.md",
        "cargo run -p pointwork-rules --example documentation",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "POINTWORK_WRITE_API=1 cargo run -p pointwork-rules --example documentation",
        SLOW,
    ),
    not_run("CONTRIBUTING.md", "cargo test -p pointwork-core", SLOW),
    not_run("CONTRIBUTING.md", "cargo test -p pointwork-guest --test bindings", SLOW),
    not_run(
        "CONTRIBUTING.md",
        "cargo test -p pointwork-rules --test structure",
        SLOW,
    ),
    not_run("CONTRIBUTING.md", "cargo fmt --all", "`.ci/run` begins with it"),
    not_run("CONTRIBUTING.md", "cargo test --workspace --no-run", SLOW),
    not_run(
        "CONTRIBUTING.md",
        "cargo test --workspace --test behaviour -- hyper::literal_beats_parameter",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "cargo test --workspace --test behaviour -- coverage",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "cargo test --workspace --test wire -- actix::streams",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "cargo test --workspace --test behaviour -- --rows",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "POINTWORK_ALL=1 cargo test --workspace --test behaviour --test hosts",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "POINTWORK_HOSTS=python cargo test --workspace --test hosts",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "POINTWORK_LONG=1 cargo test --workspace --test hosts -- many",
        SLOW,
    ),
    not_run(
        "CONTRIBUTING.md",
        "POINTWORK_WRITE_SDK=1 cargo check -p pointwork-cli",
        RELEASE,
    ),
    not_run("CONTRIBUTING.md", "cargo publish --workspace --allow-dirty", RELEASE),
    not_run(
        "CONTRIBUTING.md",
        "rustup target add aarch64-unknown-linux-gnu x86_64-pc-windows-gnu",
        OTHER,
    ),
    not_run(
        "CONTRIBUTING.md",
        "cargo check -p pointwork-cli --target aarch64-unknown-linux-gnu",
        OTHER,
    ),
    not_run(
        "CONTRIBUTING.md",
        "cargo check -p pointwork-cli --target x86_64-pc-windows-gnu",
        OTHER,
    ),
    not_run(
        "host/bindings/python/README.md",
        "pip install pointwork",
        "there is no release yet",
    ),
    not_run("host/bindings/python/README.md", "pip install maturin", RELEASE_BUILD),
    not_run(
        "host/bindings/python/README.md",
        "maturin build --release --manifest-path host/bindings/python/Cargo.toml",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/python/README.md",
        "pip install target/wheels/pointwork-*.whl",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/python/README.md",
        "cargo install --path host/cli",
        "cargo built the command for this test",
    ),
    not_run(
        "host/bindings/c/README.md",
        "make -C host/bindings/c install PREFIX=/usr/local",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "ldconfig",
        "it is for the libraries of the system",
    ),
    not_run(
        "host/bindings/c/README.md",
        "make -C host/bindings/c install PREFIX=$HOME/.local",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "export PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "gcc hello.c $(pkg-config --cflags --libs pointwork) -Wl,-rpath,$HOME/.local/lib -o hello",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "target/release/pointwork new shop",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "target/release/pointwork build shop",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "./hello shop/target/pointwork/shop.wasm",
        RELEASE_BUILD,
    ),
    not_run(
        "host/bindings/c/README.md",
        "gcc hello.c $(pkg-config --cflags --libs pointwork) -o hello",
        "the test `c` of `pointwork-c` compiles it",
    ),
    not_run(
        "examples/polyglot/README.md",
        "examples/polyglot/c/run --listen 127.0.0.1:8080",
        POLYGLOT,
    ),
    not_run(
        "examples/polyglot/README.md",
        "examples/polyglot/python/run --listen 127.0.0.1:8080",
        POLYGLOT,
    ),
    not_run(
        "examples/polyglot/README.md",
        "cargo run --release -p pointwork-cli -- build examples/products/controllers --out target/polyglot",
        POLYGLOT,
    ),
    not_run("examples/polyglot/README.md", "kill -HUP 4711", POLYGLOT),
    not_run("docs/profiling.md", "pointwork serve --perf-map shop.wasm", PERF),
    not_run(
        "docs/profiling.md",
        "perf record -F 997 -g -p $(pgrep -n pointwork) -- sleep 10",
        PERF,
    ),
    not_run(
        "docs/profiling.md",
        "perf script | inferno-collapse-perf | inferno-flamegraph > profile.svg",
        PERF,
    ),
    not_run(
        "docs/profiling.md",
        "export RUSTFLAGS=\"-C force-frame-pointers=yes\"",
        PERF,
    ),
    not_run(
        "docs/profiling.md",
        "cargo bench --manifest-path tests/bench/Cargo.toml --bench table --no-run",
        PERF,
    ),
    not_run(
        "docs/profiling.md",
        "perf record -F 997 -g -- cargo bench --manifest-path tests/bench/Cargo.toml --bench table -- guard --rounds 4",
        PERF,
    ),
    not_run(
        "docs/profiling.md",
        "perf script | inferno-collapse-perf | inferno-flamegraph > guard.svg",
        PERF,
    ),
    not_run(
        "guest/js/README.md",
        "(cd pointwork/guest/js && npm ci) # in a clone: no registry has the package yet",
        NPM,
    ),
    not_run("guest/js/README.md", "npm install ./pointwork/guest/js", NPM),
    not_run(
        "guest/js/README.md",
        "npm install --save-dev esbuild componentize-qjs@0.4.5 typescript",
        NPM,
    ),
    not_run(
        "guest/js/README.md",
        "npx pointwork-guest-build src/module.ts --out target/pointwork/shop.wasm",
        NPM,
    ),
    not_run("guest/js/README.md", "pointwork serve target/pointwork/shop.wasm", NPM),
    not_run(
        "guest/python/README.md",
        "python3 -m venv .venv && . .venv/bin/activate",
        PIP,
    ),
    not_run(
        "guest/python/README.md",
        "pip install './pointwork/guest/python[build]'",
        PIP,
    ),
    not_run(
        "guest/python/README.md",
        "(cd pointwork && cargo build -p pointwork-wasi --example compose)",
        PIP,
    ),
    not_run(
        "guest/python/README.md",
        "python -m pointwork_guest.build shop.py --out target/pointwork/shop.wasm --compose pointwork/target/debug/examples/compose",
        PIP,
    ),
    not_run(
        "guest/python/README.md",
        "pointwork serve target/pointwork/shop.wasm",
        PIP,
    ),
    not_run("examples/orders/README.md", "examples/orders/run nats", ORDERS),
    not_run(
        "examples/orders/README.md",
        r#"curl http://127.0.0.1:8080/orders --json '{"id":1,"item":"tea","to":"ada@example.com"}'"#,
        ORDERS,
    ),
    not_run("examples/orders/README.md", "curl http://127.0.0.1:8081/mails", ORDERS),
    not_run(
        "examples/orders/README.md",
        "target/release/pointwork events dead mail --admin examples/orders/data/mail.sock",
        ORDERS,
    ),
    not_run(
        "docs/typescript.md",
        "// cats.controller.ts of an application of NestJS",
        "code for NestJS",
    ),
    not_run(
        "docs/python.md",
        "# cats.py of an application of FastAPI",
        "code for FastAPI",
    ),
    not_run(
        "docs/start.md",
        "git clone https://github.com/pointwork/pointwork",
        "the folder has a clone",
    ),
    not_run(
        "docs/start.md",
        "cargo install --path pointwork/host/cli",
        "cargo built the command for this test",
    ),
];

const fn not_run(page: &'static str, text: &'static str, reason: &'static str) -> Exception {
    Exception { page, text, reason }
}

/// A test for each document.
macro_rules! pages {
    ($($test:ident: $path:literal from $begins:ident),+ $(,)?) => {
        const PAGES: &[Page] = &[$(Page { path: $path, begins: $begins }),+];

        $(#[test] fn $test() {
            follow(PAGES.iter().find(|page| page.path == $path).expect("it is in the list"));
        })+
    };
}

pages! {
    readme: "README.md" from CLONE,
    architecture: "ARCHITECTURE.md" from CLONE,
    changelog: "CHANGELOG.md" from CLONE,
    contributing: "CONTRIBUTING.md" from CLONE,
    deployment: "docs/deployment.md" from CLONE,
    events: "docs/events.md" from CLONE,
    handlers: "docs/handlers.md" from CLONE,
    limits: "docs/limits.md" from CLONE,
    mount: "docs/mount.md" from AROUND,
    profiling: "docs/profiling.md" from CLONE,
    sandbox: "docs/sandbox.md" from CLONE,
    scheduling: "docs/scheduling.md" from CLONE,
    security: "docs/security.md" from CLONE,
    servers: "docs/servers.md" from CLONE,
    sqlite: "docs/sqlite.md" from CLONE,
    start: "docs/start.md" from AROUND,
    polyglot: "examples/polyglot/README.md" from CLONE,
    booking: "examples/booking/README.md" from CLONE,
    orders: "examples/orders/README.md" from CLONE,
    products: "examples/products/README.md" from CLONE,
    typescript: "docs/typescript.md" from AROUND,
    typescript_sdk: "guest/js/README.md" from AROUND,
    python_modules: "docs/python.md" from AROUND,
    python_sdk: "guest/python/README.md" from AROUND,
    c: "host/bindings/c/README.md" from CLONE,
    python: "host/bindings/python/README.md" from CLONE,
    results: "tests/bench/RESULTS.md" from CLONE,
    kept: "tests/guests/kept/README.md" from CLONE,
    runs: "tests/all.md" from CLONE,
    specification: "tests/spec.md" from CLONE,
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..")
        .canonicalize()
        .expect("the command is in the repository")
}

fn follow(page: &Page) {
    let text = std::fs::read_to_string(root().join(page.path)).expect(page.path);
    let blocks = markdown::blocks(&text).unwrap_or_else(|errors| panic!("{}:\n{errors}", page.path));
    let exceptions = || EXCEPTIONS.iter().filter(|exception| exception.page == page.path);
    let mut used = BTreeSet::new();
    let mut is_exception = |text: &str| {
        let found = exceptions().find(|exception| exception.text == text);
        if let Some(Exception { text, reason, .. }) = found {
            println!("not run, {reason}: {text}");
            used.insert(*text);
        }
        found.is_some()
    };
    let mut session = Session::new(page.path, page.begins);
    for block in &blocks {
        println!("-- {}:{} {}", page.path, block.line, block.language);
        let has_commands = ["sh", "console"].contains(&block.language.as_str());
        if !has_commands && is_exception(block.text.lines().next().unwrap_or_default()) {
            continue;
        }
        let done = match block.language.as_str() {
            "sh" | "console" => block.commands().and_then(|commands| {
                let mut commands = commands.iter().filter(|command| !is_exception(&command.text));
                commands.try_for_each(|command| {
                    session
                        .run(command)
                        .map_err(|error| format!("line {}: `{}`: {error}", command.line, command.text))
                })
            }),
            "text" => session.prints(&block.text),
            "diff" => session.change(&block.text),
            "toml" => session.read_toml(&block.text),
            "rust" if is_doctest(page.path) => Ok(()),
            "rust" => session.show_rust(&block.text),
            "c" => session.show_c(&block.text),
            // The tests of the binding, and of the packages, run all programs of their READMEs.
            "python"
                if ["host/bindings/python/", "guest/python/"]
                    .iter()
                    .any(|folder| page.path.starts_with(folder)) =>
            {
                Ok(())
            }
            "python" => session.run_python(&block.text),
            "ts" if page.path.starts_with("guest/js/") => Ok(()),
            "ts" => session.check_ts(&block.text),
            other => Err(format!("no test knows the language `{other}`")),
        };
        done.unwrap_or_else(|error| panic!("{}:{}: {error}", page.path, block.line));
    }
    let unused: Vec<_> = exceptions()
        .map(|exception| exception.text)
        .filter(|text| !used.contains(text))
        .collect();
    assert!(
        unused.is_empty(),
        "{} has no such command or block: {unused:?}",
        page.path
    );
}

/// Checks that the packages, tests and programs that cargo's commands name exist, in prose too: most are too slow to run.
#[test]
fn cargo_commands_name_what_exists() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .current_dir(root())
        .exec()
        .expect("metadata");
    let packages = || metadata.packages.iter();
    let has = |flag: &str, name: &str| match flag {
        "-p" => packages().any(|package| package.name.as_str() == name),
        "--test" | "--bin" => packages().any(|package| package.targets.iter().any(|target| target.name == name)),
        "--manifest-path" => root().join(name).exists(),
        _ => true,
    };
    let mut wrong = Vec::new();
    for page in PAGES {
        let text = std::fs::read_to_string(root().join(page.path)).expect(page.path);
        let commands = text.split(['`', '\n']).filter(|code| code.contains("cargo "));
        for command in commands {
            let words: Vec<_> = command.split_whitespace().collect();
            let pairs = words
                .windows(2)
                .filter(|pair| pair[1].chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)));
            wrong.extend(
                pairs
                    .filter(|pair| !has(pair[0], pair[1]))
                    .map(|pair| format!("{}: {}", page.path, pair.join(" "))),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether rustdoc compiles the blocks of a document, as a part of the behaviour suite.
fn is_doctest(page: &str) -> bool {
    let suite = std::fs::read_to_string(root().join("tests/suite/src/lib.rs")).expect("the suite");
    suite.contains(&format!("include_str!(\"../../../{page}\")"))
}

/// The documents of a folder and of those below it.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_made = name.starts_with('.') || name == "target" || name == "node_modules";
        if path.is_dir() && !is_made {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn every_document_is_followed() {
    let mut found = Vec::new();
    documents(&root(), &mut found);
    let found: BTreeSet<_> = found
        .iter()
        .map(|path| {
            path.strip_prefix(root())
                .expect("below the root")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let followed = PAGES.iter().map(|page| page.path.to_owned()).collect();
    assert_eq!(
        found, followed,
        "left: the documents of the repository, right: those with a test"
    );
}
