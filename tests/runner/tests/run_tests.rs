//! `run-tests` on test binaries that are shell scripts.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A binary with the tests `good` and `bad`, which answers as libtest does.
const SCRIPT: &str = r#"#!/bin/sh
case "$1 $2" in
    "--list --format") printf 'good: test\nbad: test\n' ;;
    "--exact good") echo "$CARGO_PKG_NAME" ;;
    "--exact bad") echo "seen with POINTWORK_FUZZ_SEED=7"; exit 101 ;;
esac
"#;

const LANES: &str =
    "shared = []\nfirst = []\n[[lane]]\nlane = \"build\"\nreason = \"They run cargo.\"\ntests = [\"shop bad\"]\n";

/// Runs the tests of a package `shop` whose library's test binary is this script.
fn run(script: &str, lanes: &str) -> (TempDir, Output) {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it is written");
    write("Cargo.toml", "[package]\nname = \"shop\"\n");
    write("lanes.toml", lanes);
    write("binary", script);
    let binary = folder.path().join("binary");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("it can run");
    let message = serde_json::json!({
        "reason": "compiler-artifact",
        "manifest_path": folder.path().join("Cargo.toml"),
        "target": { "name": "shop", "kind": ["lib"] },
        "profile": { "test": true },
        "executable": binary,
    });
    write("messages.json", &message.to_string());
    let option = |name: &str, file: &str| format!("--{name}={}", folder.path().join(file).display());
    let output = Command::new(env!("CARGO_BIN_EXE_run-tests"))
        .args([
            option("messages", "messages.json"),
            option("lanes", "lanes.toml"),
            option("output", "output"),
            option("libraries", "."),
        ])
        .env("RUST_BACKTRACE", "0")
        .output();
    (folder, output.expect("it runs"))
}

fn read(folder: &TempDir, file: &str) -> String {
    fs::read_to_string(Path::new(folder.path()).join("output").join(file)).expect(file)
}

#[test]
fn a_failed_test_is_listed_with_its_lane_and_the_command_that_repeats_it() {
    let (folder, output) = run(SCRIPT, LANES);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.ends_with("1 passed, 1 failed\n"), "{text}");
    assert_eq!(
        read(&folder, "failures.txt"),
        "failed in lane build: shop bad\n  POINTWORK_FUZZ_SEED=7 cargo test -p shop --lib -- --exact 'bad'\n"
    );
    assert_eq!(read(&folder, "durations.txt").lines().count(), 2);
}

#[test]
fn tests_that_all_pass_are_a_success() {
    let (_folder, output) = run(&SCRIPT.replace("exit 101", "exit 0"), LANES);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_binary_that_does_not_list_its_tests_is_an_error() {
    let (_folder, output) = run("#!/bin/sh\nexit 2\n", LANES);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("`shop --list` fails, expected one line per test"),
        "{text}"
    );
}

#[test]
fn an_entry_of_the_lanes_without_a_test_is_an_error() {
    let (_folder, output) = run(SCRIPT, &LANES.replace("shop bad", "shop worse"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("lanes.toml names tests that do not exist: `shop worse`"),
        "{text}"
    );
}
