//! `pointwork build`.

use std::path::{Path, PathBuf};

use snapbox::str;

use crate::{example, folder, pointwork, stderr, write};

const CDYLIB: &str = "\n[lib]\ncrate-type = [\"cdylib\"]\n";

fn package(folder: &Path, name: &str, more: &str) {
    write(
        folder,
        "Cargo.toml",
        &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}"),
    );
    write(folder, "src/lib.rs", "");
}

/// Kept between runs, so that the dependencies are built once. Each package has a name of its own: cargo writes two packages
/// of one name to the same place.
pub(crate) fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests")
}

#[test]
fn folder_without_a_package_is_refused() {
    let folder = folder();
    pointwork(folder.path())
        .arg("build")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `.` is not a cargo package: expected a Cargo.toml there
hint: name the package's directory, or create a project with `pointwork new NAME`

"#]]);
}

#[test]
fn missing_path_is_named() {
    let text = stderr(pointwork(folder().path()).args(["build", "nowhere"]), 1);
    assert!(
        text.starts_with("error: cannot find `nowhere`\n  caused by: "),
        "{text}"
    );
}

#[test]
fn manifest_that_cargo_cannot_read_says_why() {
    let folder = folder();
    write(folder.path(), "Cargo.toml", "[package]\nname = \"shop\"\nversion = 1\n");
    let text = stderr(pointwork(folder.path()).arg("build"), 1);
    assert!(text.starts_with("error: cargo cannot read `"), "{text}");
    assert!(text.contains("  caused by: ") && text.contains("version"), "{text}");
}

#[test]
fn package_without_cdylib_is_shown_the_lines_to_add() {
    let folder = folder();
    package(folder.path(), "shop", "");
    pointwork(folder.path())
        .arg("build")
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: package `shop` builds no `cdylib`, the kind of library that becomes a component
hint: add to Cargo.toml:

      [lib]
      crate-type = ["cdylib", "rlib"]

"#]]);
}

#[test]
fn workspace_with_several_packages_needs_a_choice() {
    let folder = folder();
    write(
        folder.path(),
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"shop\", \"admin\", \"tool\"]\n",
    );
    package(&folder.path().join("shop"), "shop", CDYLIB);
    package(&folder.path().join("admin"), "admin", CDYLIB);
    package(&folder.path().join("tool"), "tool", "");
    let text = stderr(pointwork(folder.path()).arg("build"), 1);
    assert!(
        text.contains("has several packages to build: `shop` and `admin`"),
        "{text}"
    );
    assert!(
        text.contains("hint: choose one, as in `pointwork build -p shop`"),
        "{text}"
    );
    let text = stderr(pointwork(folder.path()).args(["build", "-p", "shp"]), 1);
    assert!(
        text.contains("no package `shp`") && text.contains("hint: did you mean `shop`?"),
        "{text}"
    );
}

#[test]
fn package_that_does_not_compile_shows_cargo_s_words() {
    let folder = folder();
    package(folder.path(), "broken", CDYLIB);
    write(folder.path(), "src/lib.rs", "pub fn f() -> u8 { \"text\" }");
    let text = stderr(
        pointwork(folder.path())
            .args(["build", "--target-dir"])
            .arg(target_dir()),
        1,
    );
    assert!(text.contains("mismatched types"), "{text}");
    assert!(text.contains("error: cargo could not build package `broken`"), "{text}");
}

#[test]
fn library_without_module_list_is_refused() {
    let folder = folder();
    package(folder.path(), "empty", CDYLIB);
    let text = stderr(
        pointwork(folder.path())
            .args(["build", "--target-dir"])
            .arg(target_dir()),
        1,
    );
    assert!(
        text.contains("empty.wasm` does not declare its imports and exports"),
        "{text}"
    );
    assert!(
        text.contains("hint: list what the module serves, once per crate: pointwork_guest::module! { … }"),
        "{text}"
    );
    assert!(!folder.path().join("target/pointwork").exists());
}

#[test]
fn target_that_the_compiler_does_not_know_is_refused() {
    let folder = folder();
    package(folder.path(), "shop", CDYLIB);
    let text = stderr(
        pointwork(folder.path()).args(["build", "--target", "wasm32-unknown-unknow"]),
        1,
    );
    assert!(
        text.starts_with("error: the Rust compiler does not know the target `wasm32-unknown-unknow`"),
        "{text}"
    );
}

#[test]
fn new_project_builds_and_passes_its_tests_as_it_comes() {
    let folder = folder();
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust");
    pointwork(folder.path())
        .args(["new", "shop", "--sdk-path"])
        .arg(sdk)
        .assert()
        .success();
    let project = folder.path().join("shop");
    let output = pointwork(&project)
        .args(["build", "--target-dir"])
        .arg(target_dir())
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("warning"), "{errors}");
    let line = String::from_utf8(output.stdout).expect("text");
    assert!(line.starts_with("built target/pointwork/shop.wasm ("), "{line}");
    assert!(line.ends_with("): synchronous\n"), "{line}");
    let component = std::fs::read(project.join("target/pointwork/shop.wasm")).expect("it is there");
    assert_eq!(component[..8], *b"\0asm\x0d\0\x01\0", "the header of a component");

    let tests = std::process::Command::new(env!("CARGO"))
        .args(["test", "--quiet"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", target_dir())
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&tests.stderr);
    assert!(tests.status.success(), "{errors}");

    let elsewhere = pointwork(folder.path())
        .args(["build", "shop", "--out", "dist", "--target-dir"])
        .arg(target_dir())
        .output()
        .expect("it runs");
    assert!(
        elsewhere.status.success(),
        "{}",
        String::from_utf8_lossy(&elsewhere.stderr)
    );
    assert_eq!(
        std::fs::read(folder.path().join("dist/shop.wasm")).expect("it is there"),
        component
    );
}

#[test]
fn component_that_the_target_ends_in_is_taken_as_it_is() {
    let out = folder();
    pointwork(&example::directory())
        .args(["build", "store", "--target", "wasm32-wasip2", "--target-dir"])
        .arg(example::target_dir())
        .arg("--out")
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
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust");
    pointwork(folder.path())
        .args(["new", "clock", "--sdk-path"])
        .arg(sdk)
        .assert()
        .success();
    let project = folder.path().join("clock");
    let source = std::fs::read_to_string(project.join("src/lib.rs")).expect("written");
    let import = "#[link(wasm_import_module = \"env\")]\nunsafe extern \"C\" {\n    fn now() -> u64;\n}\n";
    let source = source.replace(
        "\"Say your name: /greetings/:name\"",
        "if unsafe { now() } > 0 { \"late\" } else { \"\" }",
    );
    write(&project, "src/lib.rs", &format!("{source}{import}"));
    let text = stderr(pointwork(&project).args(["build", "--target-dir"]).arg(target_dir()), 1);
    assert!(text.contains("failed to resolve import `env::now`"), "{text}");
    assert!(
        text.contains("hint: a controller imports nothing but `pointwork:module`"),
        "{text}"
    );
}

#[cfg(unix)]
mod without_the_target {
    //! A compiler that lacks the target, with and without a rustup that would add it.

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        write(folder, name, &format!("#!/bin/sh\n{text}\n"));
        let path = folder.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        path
    }

    fn build(folder: &Path) -> snapbox::cmd::Command {
        package(folder, "shop", CDYLIB);
        // The folder of its libraries does not exist at first.
        let rustc = script(folder, "bin/rustc", &format!("echo '{}/libraries'", folder.display()));
        pointwork(folder)
            .arg("build")
            .env("RUSTC", rustc)
            .env("PATH", folder.join("bin"))
    }

    #[test]
    fn the_commands_to_get_it_are_shown() {
        let folder = folder();
        build(folder.path()).assert().code(4).stdout_eq("").stderr_eq(str![[r#"
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
        build(folder.path())
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
        let text = stderr(build(folder.path()), 4);
        assert!(text.contains("no network\n"), "{text}");
        assert!(
            text.contains("caused by: `rustup target add wasm32-wasip1` failed with exit status: 1"),
            "{text}"
        );
        assert!(text.contains("rustup target add wasm32-wasip1\n"), "{text}");
    }

    #[test]
    fn a_rustup_that_adds_it_lets_the_build_go_on() {
        let folder = folder();
        let make = format!("/bin/mkdir -p '{0}/libraries/std'", folder.path().display());
        script(folder.path(), "bin/rustup", &make);
        let text = stderr(build(folder.path()), 1);
        assert!(
            text.contains("note: the compiler lacks the target wasm32-wasip1; adding it with rustup"),
            "{text}"
        );
        assert!(text.contains("error: cargo could not build package `shop`"), "{text}");
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
        let builds = [build(folder.path()), build(folder.path())];
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
