//! Warnings and errors of `pointwork build` about the code of a module.

use std::path::Path;

use tempfile::TempDir;

use crate::{build, folder, pointwork, project, stderr, write};

/// Builds a project with this code, as `pointwork build` of a user does. The result is its standard error.
fn build_source(name: &str, source: &str, more: &[&str]) -> (TempDir, String) {
    let folder = folder();
    let project = project(&folder, name);
    write(&project, "src/lib.rs", source);
    // With incremental compilation rustc 1.95 reports a return type that cannot become a reply twice, once for each of two traits.
    let output = build(&project)
        .env("CARGO_INCREMENTAL", "0")
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
        std::env::var("SHOP").unwrap_or_else(|error| error.to_string())
    }

    #[get(":id")]
    fn show(id: Path<u64>) -> Result<String, Failure> {
        dbg!(*id);
        std::fs::read_to_string("orders.json").map_err(|error| Failure::new(500_u16, error.to_string()))
    }

    #[post]
    fn create() -> String {
        format!("{:?} {:?}", std::time::SystemTime::now(), std::time::Instant::now().elapsed())
    }

    #[delete]
    fn waits() -> String {
        std::thread::sleep(std::time::Duration::from_secs(1));
        String::new()
    }

    #[patch]
    fn threads() -> String {
        std::thread::spawn(|| 7).join().map_or_else(|_| String::new(), |value| value.to_string())
    }
}

#[channel("audit")]
impl Orders {
    #[on("seen")]
    fn seen(text: String) {
        eprintln!("{text}");
        std::process::exit(1);
    }
}

module! { Orders; channels: Orders }
"#;

/// The contract answers them, also in code that is not optimised and so imports more.
#[test]
fn calls_of_the_standard_library_import_nothing_beyond_the_contract() {
    for more in [&[][..], &["--debug"]] {
        let (folder, text) = build_source("calls", CALLS, more);
        assert_eq!(labelled("warning: ", &text), [""; 0], "{text}");
        let project = folder.path().join("calls");
        let (optimised, debug) = ("target/pointwork/calls.wasm", "target/pointwork/debug/calls.wasm");
        let is_debug = !more.is_empty();
        let exist = [optimised, debug].map(|path| project.join(path).exists());
        assert_eq!(exist, [!is_debug, is_debug], "each has a file of its own");
        // The configuration has the path of the optimised one.
        let arguments = [
            "check",
            if is_debug { debug } else { optimised },
            "-c",
            "pointwork.toml",
        ];
        let check = pointwork(&project).args(arguments).output().expect("it runs");
        let shown = String::from_utf8(check.stdout).expect("text");
        assert!(
            shown.contains("\n           pointwork:module/environment@0.2.0\n"),
            "{shown}"
        );
        assert!(shown.contains("\n  beyond   nothing\n"), "{shown}");
    }
}

#[test]
fn controllers_and_channels_in_no_list_are_named_with_their_place() {
    let source = r#"
pub mod carts {
    pub struct Carts;

    #[pointwork_guest::controller("carts")]
    impl Carts {
        #[get]
        fn list() -> String { String::new() }
    }
}

pub struct Orders;

#[pointwork_guest::controller("orders")]
impl Orders {
    #[get]
    fn list() -> String { String::new() }

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
    fn list() -> String { String::new() }
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
            "struct A; #[controller] impl A { #[get] async fn list() -> String { String::new() } } module! { A }",
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
            "struct A; #[controller] impl A { #[get] fn a() -> String { String::new() } } module! { A } module! { A }",
        ),
        (
            "apart",
            "struct A; #[controller] impl A { #[get] fn a() -> String { String::new() } } module! { A } mod b { pointwork_guest::module! { super::A } }",
        ),
        (
            "routes",
            "struct A; #[controller] impl A { #[get] fn a() -> String { String::new() } } struct B; #[controller] impl B { #[get] fn a() -> String { String::new() } } module! { A, B }",
        ),
    ] {
        let source = format!("#![allow(unused)] use pointwork_guest::{{channel, controller, module}}; {source}");
        let (_folder, text) = build_source(&format!("one-{name}"), &source, &["--debug"]);
        let errors = text.lines().filter(|line| line.starts_with("error"));
        let of_compiler = errors.filter(|line| !line.contains("could not"));
        assert_eq!(of_compiler.count(), 1, "{name}: {text}");
    }
}

#[test]
fn modules_of_the_repository_have_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (package, more) in [
        ("tests/guests/rust-basic", &[][..]),
        ("tests/guests/rust-async", &[]),
        ("tests/guests/rust-channels", &[]),
        ("tests/guests/rust-channels-async", &[]),
        ("examples/booking/controllers", &[]),
        ("examples/booking/channels", &["--target", "wasm32-wasip2"]),
        ("examples/products/controllers", &[]),
        ("examples/products/store", &["--target", "wasm32-wasip2"]),
        ("tests/guests/rust-wasi", &["--target", "wasm32-wasip2"]),
        ("guest/rust/tests/hello", &[]),
        ("guest/rust/tests/hello", &["--", "--features", "full,async"]),
    ] {
        let out = folder();
        let command = build(&root).arg(package).arg("--out").arg(out.path()).args(more);
        let text = stderr(command, 0);
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
