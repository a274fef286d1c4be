//! `pointwork check`.

use std::time::Duration;

use pointwork_suite::guest::{Channel, Controller, Guest, Program};
use pointwork_suite::languages::compiler_of_programs;
use snapbox::str;

use crate::versions::version;
use crate::{Says, build, example, folder, pointwork, project, refused, run, stderr, write};

#[test]
fn component_that_fits_is_described() {
    let folder = folder();
    std::fs::copy(example::controllers(), folder.path().join("products.wasm")).expect("copied");
    run(&folder, "check products.wasm")
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
           pointwork:module/context-sync@0.2.0
           pointwork:module/environment@0.2.0
           pointwork:module/events@0.2.0
           pointwork:module/log@0.2.0
  beyond   nothing
  exports  pointwork:module/manifest@0.2.0
           pointwork:module/handlers@0.2.0
           pointwork:module/listeners@0.2.0

"#]]);
}

#[test]
fn text_file_is_refused() {
    let folder = folder();
    write(&folder, "notes.wasm", "buy tea");
    refused(run(&folder, "check notes.wasm"), 5).stderr_eq(str![[r#"
error: `notes.wasm` is refused
  caused by: not a WebAssembly component: it begins with `buy tea`, expected `/0asm`

"#]]);
}

#[test]
fn core_module_is_refused() {
    let folder = folder();
    write(&folder, "core.wasm", "\0asm\u{1}\0\0\0");
    refused(run(&folder, "check core.wasm"), 5).stderr_eq(str![[r#"
error: `core.wasm` is refused
  caused by: a core module, expected a component
hint: `pointwork build` turns a project into a component

"#]]);
}

#[test]
fn component_of_another_world_is_refused_with_its_outline() {
    let folder = folder();
    write(&folder, "empty.wasm", "\0asm\r\0\u{1}\0");
    run(&folder, "check empty.wasm")
        .assert()
        .code(5)
        .stdout_eq(str![[r#"
empty.wasm is refused
  size     8 B (8 bytes)
  asks     nothing
  granted  nothing
  imports  nothing
  beyond   nothing
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
    refused(run(&folder(), "check shop.wasm"), 1)
        .stderr_eq("error: cannot read the component `shop.wasm`\n  caused by: [..]\n...\n");
}

#[test]
fn method_that_is_hardly_meant_is_warned_of() {
    let folder = folder();
    let project = project(&folder, "slips");
    let source = std::fs::read_to_string(project.join("src/lib.rs")).expect("written");
    let slip = source.replacen("#[get]", "#[request_mapping(path = \"\", method = \"ALL\")]", 1);
    assert_ne!(slip, source);
    write(&project, "src/lib.rs", &slip);
    build(&project).assert().success();
    assert_eq!(
        stderr(run(&project, "check target/pointwork/slips.wasm"), 0),
        "warning: handler `index` of controller `Greetings` answers only the method `ALL`; a declaration \
         without a method answers every method\n"
    );
}

/// The characters U+202E and U+2028 in every name that a component declares.
#[test]
fn name_that_does_not_fit_one_line_is_refused() {
    let folder = folder();
    let answer = || Program::text("answer");
    let routed = |controller: &str, handler: &str, path: &str| {
        Guest::with(Controller::new(controller, "").route(handler, Some("GET"), &[path], answer()))
    };
    let heard = |channel: &str, event: &str| Guest::new().channel(Channel::new(channel).on(event, answer()));
    for (character, shown) in [
        ("\u{202e}", "\\u{202e}"),
        ("\u{2028}", "\\u{2028}"),
        ("\u{7}", "\\u{7}"),
    ] {
        let name = &format!("a{character}b");
        for (place, guest) in [
            ("controller", routed(name, "handler", "path")),
            ("handler", routed("Controller", name, "path")),
            ("path", routed("Controller", "handler", name)),
            ("channel", heard(name, "event")),
            ("event", heard("channel", name)),
            ("used event", routed("Controller", "handler", "path").uses(name)),
            (
                "package",
                routed("Controller", "handler", "path").package(name, "1.0.0"),
            ),
        ] {
            write(&folder, "odd.wasm", guest.build());
            let output = run(&folder, "check odd.wasm").output().expect("it runs");
            let text = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(5), "{place} with {shown}: {text}");
            assert!(
                text.contains(shown) && !text.contains(character),
                "{place} with {shown}: {text}"
            );
        }
    }
}

/// A path that leads to no regular file is named, and is not read.
#[cfg(unix)]
#[test]
fn file_that_is_not_a_regular_one_is_refused_unread() {
    let folder = folder();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(made.expect("POSIX has it").success());
    std::fs::create_dir(folder.path().join("folder")).expect("created");
    for (path, kind) in [("pipe", "a FIFO"), ("/dev/zero", "a device"), ("folder", "a directory")] {
        let module = format!("[[module]]\nname = \"shop\"\npath = \"{path}\"\n");
        write(&folder, "modules.toml", &module);
        write(&folder, "shop.wasm", version(1));
        let expected = format!("it is {kind}, expected a regular file");
        for (arguments, code) in [
            (&["check", path][..], 1),
            (&["check", "shop.wasm", "-c", path], 3),
            (&["routes", "-c", "modules.toml"], 3),
            (&["serve", "--listen", "127.0.0.1:0", "-c", "modules.toml"], 3),
            (&["serve", "--listen", "127.0.0.1:0", "-c", path], 3),
            (
                &[
                    "serve",
                    "--listen",
                    "127.0.0.1:0",
                    "--admin",
                    "127.0.0.1:0",
                    "--token-file",
                    path,
                    "shop.wasm",
                ],
                3,
            ),
            (&["swap", "shop", path, "--admin", "admin.sock"], 1),
        ] {
            let command = pointwork(&folder).args(arguments).timeout(Duration::from_secs(20));
            stderr(command, code).says([&expected, &format!("`{path}`")]);
        }
    }
}

/// A file that is larger than the limit is not read to its end.
#[cfg(target_os = "linux")]
#[test]
fn file_over_the_limit_is_refused_unread() {
    let folder = folder();
    let file = std::fs::File::create(folder.path().join("shop.wasm")).expect("created");
    file.set_len(1 << 40).expect("it has no blocks");
    for arguments in [
        &["check", "shop.wasm"][..],
        &["routes", "shop.wasm"],
        &["serve", "--listen", "127.0.0.1:0", "shop.wasm"],
    ] {
        // Memory for more than the limit, and less than the file.
        let mut command = std::process::Command::new("prlimit");
        command
            .arg("--data=4294967296")
            .arg(snapbox::cmd::cargo_bin!("pointwork"));
        let output = command
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("util-linux has it");
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(5), "{arguments:?}: {text}");
        assert!(
            text.contains("it has 1099511627776 bytes, expected at most 67108864"),
            "{arguments:?}: {text}"
        );
    }
    let config = std::fs::File::create(folder.path().join("pointwork.toml")).expect("created");
    config.set_len(1 << 40).expect("it has no blocks");
    stderr(run(&folder, "routes"), 3).says(["it has 1099511627776 bytes, expected at most"]);
}

#[test]
fn compiler_of_a_debug_build_that_is_none_is_named() {
    let folder = folder();
    write(&folder, "shop.wasm", version(1));
    let (variable, _) = compiler_of_programs();
    refused(run(&folder, "check shop.wasm").env(variable, "no"), 5).stderr_eq(str![[r#"
error: `POINTWORK_DEBUG_COMPILER` is `no`, expected a JSON array with a program and its arguments

"#]]);
}
