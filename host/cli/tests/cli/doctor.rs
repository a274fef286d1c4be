//! `pointwork doctor`, with tools that are missing.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pointwork_suite::guest::{Controller, Guest, Program};
use tempfile::TempDir;

use crate::{folder, run, write};

/// A folder for PATH with scripts in place of tools.
struct Tools(TempDir);

impl Tools {
    /// A compiler of a version, with these targets.
    fn rustc(version: &str, targets: &[&str]) -> Self {
        let tools = Self(folder());
        let root = tools.0.path().join("lib");
        for target in targets {
            write(&root.join(target), "libcore.rlib", "");
        }
        tools.with(
            "rustc",
            &format!(
                "case \"$1\" in --version) echo 'rustc {version} (test)';; *) echo \"{}/$4\";; esac",
                root.display()
            ),
        )
    }

    /// The compiler that is needed, with cargo and rustup.
    fn all() -> Self {
        Self::rustc("1.95.0", &["wasm32-wasip1", "wasm32-wasip2"])
            .with("cargo", "echo 'cargo 1.95.0'")
            .with("rustup", "echo 'rustup 1.29.0'")
    }

    fn with(self, tool: &str, script: &str) -> Self {
        let path = self.0.path().join(tool);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("changed");
        self
    }

    fn without(self, tool: &str) -> Self {
        std::fs::remove_file(self.0.path().join(tool)).expect("it was there");
        self
    }

    /// Runs `pointwork doctor` in a folder. The result is its output and its errors.
    fn doctor(&self, folder: &Path, code: i32) -> (String, String) {
        let output = run(folder, "doctor")
            .env("PATH", self.0.path())
            .env_remove("CARGO")
            .output()
            .expect("it runs");
        let [out, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        assert_eq!(output.status.code(), Some(code), "{out}{errors}");
        (out, errors)
    }
}

/// A project that listens on a free port.
fn project(more: &str) -> TempDir {
    let folder = folder();
    write(&folder, "pointwork.toml", format!("listen = \"127.0.0.1:0\"\n{more}"));
    folder
}

#[test]
fn nothing_is_missing_for_a_project_that_serves() {
    let folder = project("[[module]]\npath = \"shop.wasm\"\nbuild = \".\"\n");
    let guest = Guest::with(Controller::new("Shop", "").get("a", Program::text("a")));
    write(&folder, "shop.wasm", guest.build());
    let lock = format!(
        "[[package]]\nname = \"pointwork-guest\"\nversion = \"{}\"\n",
        env!("CARGO_PKG_VERSION")
    );
    write(&folder, "Cargo.lock", &lock);
    let (out, errors) = Tools::all().doctor(folder.path(), 0);
    assert_eq!(errors, "");
    snapbox::assert_data_eq!(
        out,
        snapbox::str![[r#"
ok       cargo 1.95.0
ok       rustc 1.95.0 (test) (needed: 1.95 or later)
ok       target wasm32-wasip1, of controllers
ok       target wasm32-wasip2, of channel modules
ok       rustup 1.29.0
note     node is not installed, which builds modules in TypeScript
note     Python 3.11 or later is not installed, which builds modules in Python
ok       pointwork.toml lists 1 module
ok       pointwork-guest 0.2.0, of the contract of pointwork 0.2.0
ok       module `shop`: shop.wasm fits the contract 0.2.0
ok       address 127.0.0.1:0 is free

"#]]
    );
}

#[test]
fn missing_tool_is_named_with_the_way_to_get_it() {
    let both = &["wasm32-wasip1", "wasm32-wasip2"];
    for (tools, line, what_to_do) in [
        (
            Tools::all().without("cargo"),
            "missing  cannot run `cargo`: ",
            "install Rust from https://rustup.rs, or name cargo in CARGO",
        ),
        (
            Tools::all().without("rustc"),
            "missing  cannot run the Rust compiler `rustc`: ",
            "install Rust from https://rustup.rs, or name the compiler in RUSTC",
        ),
        (
            Tools::rustc("1.80.1", both).with("cargo", "echo 'cargo 1.80.1'"),
            "missing  rustc 1.95 or later: this is rustc 1.80.1 (test)\n",
            "rustup update stable",
        ),
        (
            Tools::rustc("1.95.0", &both[1..]).with("cargo", "echo 'cargo 1.95.0'"),
            "missing  target wasm32-wasip1, of controllers\n",
            "rustup target add wasm32-wasip1",
        ),
        (
            Tools::all().with("rustc", "echo 'error: no default toolchain' >&2; exit 1"),
            "missing  cannot run the Rust compiler `rustc`: error: no default toolchain\n",
            "install Rust from https://rustup.rs",
        ),
    ] {
        let (out, errors) = tools.doctor(folder().path(), 4);
        assert!(out.contains(line), "`{line}` is not in:\n{out}");
        assert!(out.contains(what_to_do), "`{what_to_do}` is not in:\n{out}");
        assert_eq!(
            errors,
            "error: 1 thing is missing\nhint: the lines below `missing` say how to get it\n"
        );
    }
}

#[test]
fn unneeded_thing_is_a_note() {
    let tools = Tools::rustc("1.96.0-nightly", &["wasm32-wasip1"]).with("cargo", "echo 'cargo 1.96.0'");
    let (out, errors) = tools.doctor(folder().path(), 0);
    assert_eq!(errors, "");
    for line in [
        "note     target wasm32-wasip2, of channel modules, is not installed: rustup target add wasm32-wasip2\n",
        "note     rustup is not installed: targets are added by hand, see https://rustup.rs\n",
        "note     no pointwork.toml here: no project was checked; `pointwork new NAME` creates one\n",
    ] {
        assert!(out.contains(line), "`{line}` is not in:\n{out}");
    }
    // The same target is needed where a module is built for it.
    let channels = project("[[module]]\npath = \"db.wasm\"\nbuild = \".\"\ntarget = \"wasm32-wasip2\"\n");
    let (out, _) = tools.doctor(channels.path(), 4);
    assert!(
        out.contains("missing  target wasm32-wasip2, of channel modules\n"),
        "{out}"
    );
}

#[test]
fn fault_of_the_project_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listener.local_addr().expect("bound");
    let tools = Tools::all();
    for (config, files, code, line) in [
        (
            "listn = 1\n".to_owned(),
            &[][..],
            3,
            "missing  unknown key `listn` in pointwork.toml:2:1\n         did you mean `listen`?\n".to_owned(),
        ),
        (
            "[[module]]\npath = \"shop.wasm\"\n".to_owned(),
            &[],
            1,
            "missing  component shop.wasm of module `shop`\n         `pointwork build` builds one".to_owned(),
        ),
        (
            "[[module]]\npath = \"shop.wasm\"\nbuild = \"nowhere\"\n".to_owned(),
            &[],
            3,
            "missing  package nowhere of module `shop`\n         name its folder in `build`\n".to_owned(),
        ),
        (
            "[[module]]\npath = \"shop.wasm\"\n".to_owned(),
            &[("shop.wasm", "buy tea")],
            5,
            "missing  module `shop`: shop.wasm does not fit the contract: not a WebAssembly component".to_owned(),
        ),
        (
            "[[module]]\npath = \"shop.wasm\"\nbuild = \".\"\n".to_owned(),
            &[(
                "Cargo.lock",
                "[[package]]\nname = \"pointwork-guest\"\nversion = \"0.1.3\"\n",
            )],
            1,
            "missing  pointwork-guest 0.2.0: ".to_owned(),
        ),
    ] {
        let folder = project(&config);
        for (file, text) in files {
            write(&folder, file, text);
        }
        let (out, _) = tools.doctor(folder.path(), code);
        assert!(out.contains(&line), "`{line}` is not in:\n{out}");
    }
    let folder = folder();
    write(&folder, "pointwork.toml", format!("listen = \"{taken}\"\n"));
    let (out, _) = tools.doctor(folder.path(), 6);
    assert!(
        out.contains(&format!("missing  address {taken} cannot be listened on: ")),
        "{out}"
    );
}
