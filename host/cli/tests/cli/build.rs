//! `pointwork build`.

use std::path::{Path, PathBuf};

use snapbox::str;
use tempfile::TempDir;

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
fn target_dir() -> PathBuf {
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

/// Builds a project with this code, as `pointwork build` of a user does. The result is its standard error.
fn build_source(name: &str, source: &str, more: &[&str]) -> (TempDir, String) {
    let folder = folder();
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust");
    pointwork(folder.path())
        .args(["new", name, "--sdk-path"])
        .arg(sdk)
        .assert()
        .success();
    let project = folder.path().join(name);
    write(&project, "src/lib.rs", source);
    let output = pointwork(&project)
        .args(["build", "--target-dir"])
        .arg(target_dir())
        .args(more)
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stderr).expect("text");
    (folder, text)
}

/// The lines of `pointwork build` itself that begin with a label.
fn labelled<'a>(label: &str, text: &'a str) -> Vec<&'a str> {
    let own = text.lines().skip_while(|line| !line.contains("Finished"));
    own.filter_map(|line| line.strip_prefix(label)).collect()
}

const CALLS: &str = r#"
use pointwork_guest::{Failure, Path, channel, controller, module};

struct Orders;

#[controller("orders")]
impl Orders {
    #[get]
    fn list() -> String {
        println!("listed");
        helper()
    }

    #[get(":id")]
    fn show(id: Path<u64>) -> Result<String, Failure> {
        dbg!(*id);
        std::fs::read_to_string("orders.json").map_err(|error| Failure::new(500_u16, error.to_string()))
    }

    #[post]
    fn create() -> String {
        format!("{:?}", std::time::SystemTime::now())
    }

    #[put]
    fn lasts() -> String {
        format!("{:?}", std::time::Instant::now().elapsed())
    }

    #[delete]
    fn waits() {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }

    #[patch]
    fn threads() -> String {
        std::thread::spawn(|| 7).join().map_or_else(|_| String::new(), |value| value.to_string())
    }
}

fn helper() -> String {
    std::env::var("SHOP").unwrap_or_else(|error| error.to_string())
}

#[channel("audit")]
impl Orders {
    #[on("seen")]
    fn seen(text: String) {
        eprintln!("{text}");
    }
}

module! { Orders; channels: Orders }
"#;

#[test]
fn calls_that_do_not_work_in_a_controller_are_named() {
    let (folder, text) = build_source("calls", CALLS, &[]);
    let expected = [
        "`println!` prints nothing in a module without WASI, called by `calls::Orders::list`; write to the log with \
         `pointwork_guest::log`",
        "`eprintln!` or `dbg!` prints nothing in a module without WASI, called by `calls::Orders::seen`, \
         `calls::Orders::show`; write to the log with `pointwork_guest::log`",
        "`SystemTime::now` panics in a module without WASI, called by `calls::Orders::create`; let a channel return the time",
        "`Instant::now` panics in a module without WASI, called by `calls::Orders::lasts`; let a channel return the time",
        "`std::thread::sleep` panics in a module without WASI, called by `calls::Orders::waits`; let a channel do it",
        "`std::thread::spawn` panics in a module without WASI, called by `calls::Orders::threads`; do it in the handler, or \
         emit an event to a channel",
    ];
    let found = labelled("warning: ", &text);
    for warning in expected {
        assert!(found.contains(&warning), "{warning}\n{text}");
    }
    let component = folder.path().join("calls/target/pointwork/calls.wasm");
    let check = pointwork(folder.path())
        .arg("check")
        .arg(component)
        .output()
        .expect("it runs");
    let check = String::from_utf8(check.stderr).expect("text");
    assert_eq!(
        check
            .lines()
            .filter_map(|line| line.strip_prefix("warning: "))
            .collect::<Vec<_>>(),
        found
    );

    let (_folder, text) = build_source("calls", CALLS, &["--debug"]);
    let found = labelled("warning: ", &text);
    for warning in expected.into_iter().chain([
        "`std::env` finds nothing in a module without WASI, called by `calls::helper`; let a channel do it",
        "`std::fs` returns an error in a module without WASI, called by `calls::Orders::show`; let a channel do it",
    ]) {
        assert!(found.contains(&warning), "{warning}\n{text}");
    }
    assert_eq!(found.len(), expected.len() + 2, "{text}");
}

/// Optimised code has no call of these, but what becomes of their errors.
#[test]
fn inlined_calls_are_told_by_their_errors() {
    let (_folder, text) = build_source("inlined", &CALLS.replace("Orders", "Carts"), &[]);
    let found = labelled("warning: ", &text);
    for warning in [
        "`std::env` finds nothing in a module without WASI, called by `inlined::Carts::list`; let a channel do it",
        "a function of `std::fs`, `std::net`, `std::env` or `std::process` returns an error in a module without WASI, \
         called by `inlined::Carts::show`; let a channel do it",
    ] {
        assert!(found.contains(&warning), "{warning}\n{text}");
    }
}

#[test]
fn module_without_names_is_not_checked_and_this_is_said() {
    let (_folder, text) = build_source("nameless", CALLS, &["--", "--config", "profile.release.strip = true"]);
    assert_eq!(labelled("warning: ", &text), [""; 0], "{text}");
    let notes = labelled("note: ", &text);
    assert!(
        matches!(notes.as_slice(), [note] if note.starts_with("the module has no names of functions")),
        "{text}"
    );
}

#[test]
fn controllers_and_channels_in_no_list_are_named_with_their_place() {
    let source = r#"
pub mod carts {
    pub struct Carts;

    #[pointwork_guest::controller("carts")]
    impl Carts {
        #[get]
        fn list() {}
    }
}

pub struct Orders;

#[pointwork_guest::controller("orders")]
impl Orders {
    #[get]
    fn list() {}

    /// A helper.
    pub fn helper() {}
}

struct Audit;

#[pointwork_guest::channel("audit")]
impl Audit {
    #[on("seen")]
    fn seen() {}
}

struct Old;

#[allow(dead_code, reason = "kept for later")]
#[pointwork_guest::controller("old")]
impl Old {
    #[get]
    fn list() {}
}

pointwork_guest::module! { Orders }
"#;
    let (_folder, text) = build_source("lists", source, &[]);
    let add = "is not part of the module; add it to the list of `module!`, or put `allow(dead_code)` on its block";
    assert_eq!(
        labelled("warning: ", &text),
        [
            format!("channel `lists::Audit` at src/lib.rs:25 {add}"),
            format!("controller `lists::carts::Carts` at src/lib.rs:5 {add}"),
        ],
        "{text}"
    );
}

/// The compiler reports more for WebAssembly, where `module!` has exports, than the SDK's own tests of messages see.
#[test]
fn mistake_in_a_controller_is_one_error() {
    for (name, source) in [
        (
            "self",
            "struct A; #[controller] impl A { #[get] fn list(&self) {} } module! { A }",
        ),
        ("none", "struct A; module! { A }"),
        (
            "waits",
            "struct A; #[controller] impl A { #[get] async fn list() {} } module! { A }",
        ),
        (
            "listens",
            "struct A; #[channel(\"a\")] impl A { #[on(\"b\")] async fn on() {} } module! { channels: A }",
        ),
        ("struct", "#[controller] struct A; module! { async; A }"),
        (
            "takes",
            "struct B; struct A; #[controller] impl A { #[get] fn list(_: B) {} } module! { A }",
        ),
        (
            "returns",
            "struct B; struct A; #[controller] impl A { #[get] fn list() -> B { B } } module! { A }",
        ),
        (
            "twice",
            "struct A; #[controller] impl A { #[get] fn a() {} } module! { A } module! { A }",
        ),
        (
            "apart",
            "struct A; #[controller] impl A { #[get] fn a() {} } module! { A } mod b { pointwork_guest::module! { super::A } }",
        ),
        (
            "routes",
            "struct A; #[controller] impl A { #[get] fn a() {} } struct B; #[controller] impl B { #[get] fn a() {} } module! { A, B }",
        ),
    ] {
        let source = format!("#![allow(unused)] use pointwork_guest::{{channel, controller, module}}; {source}");
        let (_folder, text) = build_source(&format!("one-{name}"), &source, &["--debug"]);
        let errors = text.lines().filter(|line| line.starts_with("error"));
        let of_compiler = errors.filter(|line| !line.contains("could not"));
        assert_eq!(of_compiler.count(), 1, "{name}: {text}");
    }
}

/// Each call that a warning names is one of the author; nothing that the SDK or the standard library does for itself is.
#[test]
fn modules_of_the_repository_have_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = ["--", "--config", "profile.release.strip = \"debuginfo\""];
    let hello = |features| [&names[..], &["--features", features]].concat();
    for (package, more) in [
        ("tests/guests/rust-basic", Vec::new()),
        ("tests/guests/rust-async", Vec::new()),
        ("tests/guests/rust-channels", Vec::new()),
        ("tests/guests/rust-channels-async", Vec::new()),
        ("examples/products/controllers", Vec::new()),
        ("examples/products/store", vec!["--target", "wasm32-wasip2"]),
        (
            "tests/guests/rust-wasi",
            [&["--target", "wasm32-wasip2"], &names[..]].concat(),
        ),
        ("guest/rust/tests/hello", hello("")),
        ("guest/rust/tests/hello", hello("full,async")),
        // Little is inlined there, and so much more of the standard library has a name.
        ("examples/products/controllers", vec!["--debug"]),
        ("tests/guests/rust-channels-async", vec!["--debug"]),
    ] {
        let out = folder();
        let text = stderr(
            pointwork(&root)
                .args(["build", package, "--target-dir"])
                .arg(target_dir())
                .arg("--out")
                .arg(out.path())
                .args(&more),
            0,
        );
        let mut warnings = labelled("warning: ", &text);
        // It is in no list on purpose, for a case of the behaviour suite.
        warnings.retain(|warning| !warning.starts_with("controller `rust_basic::Unlisted` at "));
        assert_eq!(
            (warnings, labelled("note: ", &text)),
            (Vec::new(), Vec::new()),
            "{package} {more:?}"
        );
    }
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
note: the compiler lacks the target wasm32-unknown-unknown; adding it with rustup
error: the compiler's target `wasm32-unknown-unknown` is missing and could not be added
  caused by: rustup, which could add it, is not installed
hint: with rustup:            rustup target add wasm32-unknown-unknown
      on Debian and Ubuntu:   apt install libstd-rust-dev-wasm32
      on Fedora:              dnf install rust-std-static-wasm32-unknown-unknown
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
            text.contains("caused by: `rustup target add wasm32-unknown-unknown` failed with exit status: 1"),
            "{text}"
        );
        assert!(text.contains("rustup target add wasm32-unknown-unknown\n"), "{text}");
    }

    #[test]
    fn a_rustup_that_adds_it_lets_the_build_go_on() {
        let folder = folder();
        let make = format!("/bin/mkdir -p '{0}/libraries/std'", folder.path().display());
        script(folder.path(), "bin/rustup", &make);
        let text = stderr(build(folder.path()), 1);
        assert!(
            text.contains("note: the compiler lacks the target wasm32-unknown-unknown; adding it with rustup"),
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
