//! `pointwork check`.

use std::path::Path;

use snapbox::str;

use crate::{example, folder, pointwork, stderr, write};

#[test]
fn component_that_fits_is_described() {
    let folder = folder();
    std::fs::copy(example::controllers(), folder.path().join("products.wasm")).expect("copied");
    pointwork(folder.path())
        .args(["check", "products.wasm"])
        .assert()
        .success()
        .stderr_eq("")
        .stdout_eq(str![[r#"
products.wasm fits the contract
  form     synchronous
  contract pointwork:module@0.2.0
  routes   10
  channels nothing
  uses     db:product:all
           db:product:count
           db:product:create
           db:product:delete
           db:product:one
           db:product:search
           db:product:update
           db:product:views
           product:viewed
           response:send
  digest   sha256:[..]
  size     [..] bytes)
  asks     nothing
  granted  nothing
  imports  pointwork:module/types@0.2.0
           pointwork:module/context@0.2.0
           pointwork:module/events@0.2.0
           pointwork:module/log@0.2.0
  exports  pointwork:module/manifest@0.2.0
           pointwork:module/handlers@0.2.0
           pointwork:module/listeners@0.2.0

"#]]);
}

#[test]
fn text_file_is_refused() {
    let folder = folder();
    write(folder.path(), "notes.wasm", "buy tea");
    pointwork(folder.path())
        .args(["check", "notes.wasm"])
        .assert()
        .code(5)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `notes.wasm` is refused
  caused by: not a WebAssembly component: it begins with `buy tea`, expected `/0asm`

"#]]);
}

#[test]
fn core_module_is_refused() {
    let folder = folder();
    write(folder.path(), "core.wasm", "\0asm\u{1}\0\0\0");
    pointwork(folder.path())
        .args(["check", "core.wasm"])
        .assert()
        .code(5)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `core.wasm` is refused
  caused by: a core module, expected a component
hint: `pointwork build` turns a cargo package into a component

"#]]);
}

#[test]
fn component_of_another_world_is_refused_with_its_outline() {
    let folder = folder();
    write(folder.path(), "empty.wasm", "\0asm\r\0\u{1}\0");
    pointwork(folder.path())
        .args(["check", "empty.wasm"])
        .assert()
        .code(5)
        .stdout_eq(str![[r#"
empty.wasm is refused
  size     8 B (8 bytes)
  asks     nothing
  granted  nothing
  imports  nothing
  exports  nothing

"#]])
        .stderr_eq(str![[r#"
error: `empty.wasm` is refused
  caused by: exports nothing, expected `pointwork:module/manifest` with `handlers` and `listeners`, or with `handlers-async` and `listeners-async`
hint: the component is of another world, or the file is truncated

"#]]);
}

#[test]
fn missing_file_is_named() {
    let text = stderr(pointwork(folder().path()).args(["check", "shop.wasm"]), 1);
    assert!(
        text.starts_with("error: cannot read the component `shop.wasm`\n  caused by: "),
        "{text}"
    );
}

#[test]
fn method_that_is_hardly_meant_is_warned_of() {
    let folder = folder();
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust");
    pointwork(folder.path())
        .args(["new", "slips", "--sdk-path"])
        .arg(sdk)
        .assert()
        .success();
    let project = folder.path().join("slips");
    let source = std::fs::read_to_string(project.join("src/lib.rs")).expect("written");
    let slip = source.replacen("#[get]", "#[request_mapping(path = \"\", method = \"ALL\")]", 1);
    assert_ne!(slip, source);
    write(&project, "src/lib.rs", &slip);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    pointwork(&project)
        .args(["build", "--target-dir"])
        .arg(target)
        .assert()
        .success();
    let output = pointwork(&project)
        .args(["check", "target/pointwork/slips.wasm"])
        .output()
        .expect("it runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(
        text,
        "warning: handler `index` of controller `Greetings` answers only the method `ALL`; a declaration \
         without a method answers every method\n"
    );
}
