//! `pointwork build`.

use std::path::{Path, PathBuf};

use snapbox::cmd::Command;
use snapbox::str;

use crate::{Says, build, example, folder, project, refused, run, stderr, write};

const CDYLIB: &str = "\n[lib]\ncrate-type = [\"cdylib\"]\n";

fn package(folder: &Path, name: &str, more: &str) {
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}");
    write(folder, "Cargo.toml", manifest);
    write(folder, "src/lib.rs", "");
}

#[test]
fn folder_without_a_package_is_refused() {
    let folder = folder();
    refused(run(&folder, "build"), 1).stderr_eq(str![[r#"
error: `.` is not a project: expected a `Cargo.toml`, `package.json` or `pyproject.toml` there
hint: name the project's directory, or create a project with `pointwork new NAME`

"#]]);
}

#[test]
fn missing_path_is_named() {
    refused(run(&folder(), "build nowhere"), 1).stderr_eq("error: cannot find `nowhere`\n  caused by: [..]\n...\n");
}

#[test]
fn manifest_that_cargo_cannot_read_says_why() {
    let folder = folder();
    write(&folder, "Cargo.toml", "[package]\nname = \"shop\"\nversion = 1\n");
    let text = stderr(run(&folder, "build"), 1);
    assert!(text.starts_with("error: cargo cannot read `"), "{text}");
    assert!(text.contains("  caused by: ") && text.contains("version"), "{text}");
}

#[test]
fn package_without_cdylib_is_shown_the_lines_to_add() {
    let folder = folder();
    package(folder.path(), "shop", "");
    refused(run(&folder, "build"), 1).stderr_eq(str![[r#"
error: package `shop` builds no `cdylib`, the kind of library that becomes a component
hint: add to Cargo.toml:

      [lib]
      crate-type = ["cdylib", "rlib"]

"#]]);
}

#[test]
fn workspace_with_several_packages_needs_a_choice() {
    let folder = folder();
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"shop\", \"admin\", \"tool\"]\n";
    write(&folder, "Cargo.toml", workspace);
    for (name, library) in [("shop", CDYLIB), ("admin", CDYLIB), ("tool", "")] {
        package(&folder.path().join(name), name, library);
    }
    stderr(run(&folder, "build"), 1).says([
        "has several packages to build: `shop` and `admin`",
        "hint: choose one, as in `pointwork build -p shop`",
    ]);
    stderr(run(&folder, "build -p shp"), 1).says(["no package `shp`", "hint: did you mean `shop`?"]);
}

#[test]
fn package_that_does_not_compile_shows_cargo_s_words() {
    let folder = folder();
    package(folder.path(), "broken", CDYLIB);
    write(&folder, "src/lib.rs", "pub fn f() -> u8 { \"text\" }");
    stderr(build(&folder), 1).says(["mismatched types", "error: cargo could not build package `broken`"]);
}

#[test]
fn library_without_module_list_is_refused() {
    let folder = folder();
    package(folder.path(), "empty", CDYLIB);
    stderr(build(&folder), 1).says([
        "empty.wasm` does not declare its imports and exports",
        "hint: list what the module serves, once per crate: pointwork_guest::module! { … }",
    ]);
    assert!(!folder.path().join("target/pointwork").exists());
}

#[test]
fn target_that_the_compiler_does_not_know_is_refused() {
    let folder = folder();
    package(folder.path(), "shop", CDYLIB);
    refused(run(&folder, "build --target wasm32-unknown-unknow"), 1)
        .stderr_eq("error: the Rust compiler does not know the target `wasm32-unknown-unknow`[..]\n...\n");
}

#[test]
fn new_project_builds_and_passes_its_tests_as_it_comes() {
    let folder = folder();
    let project = project(&folder, "shop");
    let built = build(&project).assert().success();
    let errors = String::from_utf8_lossy(&built.get_output().stderr);
    assert!(!errors.contains("warning"), "{errors}");
    built.stdout_eq("built target/pointwork/shop.wasm ([..]): synchronous\n");
    let component = std::fs::read(project.join("target/pointwork/shop.wasm")).expect("it is there");
    assert_eq!(component[..8], *b"\0asm\x0d\0\x01\0", "the header of a component");
    let sources = std::fs::read_to_string(project.join("target/pointwork/shop.d")).expect("it is there");
    assert!(sources.contains("/shop/src/lib.rs"), "{sources}");

    let tests = Command::new(env!("CARGO")).args(["test", "--quiet"]);
    let tests = tests
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", example::target_dir());
    tests.assert().success();

    build(&folder).args(["shop", "--out", "dist"]).assert().success();
    let elsewhere = std::fs::read(folder.path().join("dist/shop.wasm"));
    assert_eq!(elsewhere.expect("it is there"), component);
}

#[test]
fn component_that_the_target_ends_in_is_taken_as_it_is() {
    let out = folder();
    build(&example::directory())
        .args(["store", "--target", "wasm32-wasip2", "--out"])
        .arg(out.path())
        .assert()
        .success()
        .stdout_eq(str![[r#"
built [..]products-store.wasm ([..]): asynchronous

"#]]);
    let linked = example::target_dir().join("wasm32-wasip2/release/products_store.wasm");
    assert_eq!(
        std::fs::read(out.path().join("products-store.wasm")).expect("it is there"),
        std::fs::read(linked).expect("it is there")
    );
}

#[test]
fn import_from_outside_the_contract_is_named() {
    let folder = folder();
    let project = project(&folder, "clock");
    let source = std::fs::read_to_string(project.join("src/lib.rs")).expect("written");
    let import = "#[link(wasm_import_module = \"env\")]\nunsafe extern \"C\" {\n    fn now() -> u64;\n}\n";
    let source = source.replace(
        "\"Say your name: /greetings/:name\"",
        "if unsafe { now() } > 0 { \"late\" } else { \"\" }",
    );
    write(&project, "src/lib.rs", format!("{source}{import}"));
    stderr(build(&project), 1).says([
        "failed to resolve import `env::now`",
        "hint: a controller imports nothing but `pointwork:module`",
    ]);
}

#[cfg(unix)]
mod without_the_target {
    //! A compiler that lacks the target, with and without a rustup that would add it.

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        write(folder, name, format!("#!/bin/sh\n{text}\n"));
        let path = folder.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        path
    }

    fn lacking(folder: &Path) -> Command {
        package(folder, "shop", CDYLIB);
        // The folder of its libraries does not exist at first.
        let rustc = script(folder, "bin/rustc", &format!("echo '{}/libraries'", folder.display()));
        run(folder, "build").env("RUSTC", rustc).env("PATH", folder.join("bin"))
    }

    #[test]
    fn the_commands_to_get_it_are_shown() {
        let folder = folder();
        lacking(folder.path())
            .assert()
            .code(4)
            .stdout_eq("")
            .stderr_eq(str![[r#"
note: the compiler lacks the target wasm32-wasip1; adding it with rustup
error: the compiler's target `wasm32-wasip1` is missing and could not be added
  caused by: rustup, which could add it, is not installed
hint: with rustup:            rustup target add wasm32-wasip1
      on Debian and Ubuntu:   apt install libstd-rust-dev-wasm32
      on Fedora:              dnf install rust-std-static-wasm32-wasip1
      on Arch Linux:          pacman -S rust-wasm
      on Alpine:              apk add rust-wasm

"#]]);
    }

    #[test]
    fn the_target_of_channel_modules_is_added_in_the_same_way() {
        let folder = folder();
        lacking(folder.path())
            .args(["--target", "wasm32-wasip2"])
            .assert()
            .code(4)
            .stdout_eq("")
            .stderr_eq(str![[r#"
note: the compiler lacks the target wasm32-wasip2; adding it with rustup
error: the compiler's target `wasm32-wasip2` is missing and could not be added
  caused by: rustup, which could add it, is not installed
hint: with rustup:            rustup target add wasm32-wasip2

"#]]);
    }

    #[test]
    fn a_rustup_that_cannot_add_it_is_quoted() {
        let folder = folder();
        script(folder.path(), "bin/rustup", "echo 'no network' >&2; exit 1");
        stderr(lacking(folder.path()), 4).says([
            "no network\n",
            "caused by: `rustup target add wasm32-wasip1` failed with exit status: 1",
            "rustup target add wasm32-wasip1\n",
        ]);
    }

    #[test]
    fn a_rustup_that_adds_it_lets_the_build_go_on() {
        let folder = folder();
        let make = format!("/bin/mkdir -p '{0}/libraries/std'", folder.path().display());
        script(folder.path(), "bin/rustup", &make);
        stderr(lacking(folder.path()), 1).says([
            "note: the compiler lacks the target wasm32-wasip1; adding it with rustup",
            "error: cargo could not build package `shop`",
        ]);
    }

    #[test]
    fn two_builds_at_once_add_it_once() {
        let folder = folder();
        // Like rustup, it fails beside another one.
        let make = format!(
            "cd '{}' && echo added >> log; /bin/mkdir running || exit 1; /bin/sleep 1; /bin/mkdir -p libraries/std; \
             /bin/rmdir running",
            folder.path().display()
        );
        script(folder.path(), "bin/rustup", &make);
        // Every file is written before any of the two begins.
        let builds = [lacking(folder.path()), lacking(folder.path())];
        let texts: Vec<_> = std::thread::scope(|scope| {
            let running = builds.map(|build| scope.spawn(|| stderr(build, 1)));
            running
                .into_iter()
                .map(|build| build.join().expect("it ends"))
                .collect()
        });
        let log = std::fs::read_to_string(folder.path().join("log")).expect("it ran");
        assert_eq!(log, "added\n", "{texts:#?}");
    }
}
