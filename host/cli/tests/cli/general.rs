//! Help, colours, exit codes.

use snapbox::str;

use crate::{Says, folder, pointwork, run, stderr};

#[test]
fn help_lists_commands_and_exit_codes() {
    let folder = folder();
    run(&folder, "-h").assert().success().stdout_eq(str![[r#"
Write HTTP controllers once, compile them to sandboxed WebAssembly components, serve them on the
HTTP server you run

Usage: pointwork [OPTIONS] <COMMAND>

Commands:
  new          Create a project
  dev          Build and serve a project, and swap its modules as their sources change
  vendor       Update the copy of the SDK in a project
  build        Compile a controller project into a component
  serve        Serve components and channels over HTTP
  routes       List the routes of components
  check        Check a component against the contract, and describe it
  modules      List the modules of a running server
  swap         Replace or add a module of a running server
  remove       Remove a module from a running server
  rollback     Return a module of a running server to its previous version
  events       List the durable channels of a running server, and settle dead letters
  doctor       Report what is missing for building and serving
  completions  Print the completion script of a shell
  help         Print this message or the help of the given subcommand(s)

Options:
      --color <WHEN>  Controls when to use color [default: auto] [possible values: auto, always,
                      never]
  -h, --help          Print help (see more with '--help')
  -V, --version       Print version

Logging:
      --log-format <FORMAT>  Format of the log [default: text] [possible values: text, json]
      --log-level <FILTER>   Filter of the log: a level, or directives as in `info,pointwork=debug`
                             [default: info for serve, otherwise warn] [env: RUST_LOG]

Exit codes:
  0  success
  1  failure
  2  the command line is invalid
  3  the configuration, or a file or folder that it names, is invalid or missing
  4  a tool is missing: cargo, the WebAssembly target of the compiler, or Node
  5  a component, or the change of a module, is refused
  6  the server cannot listen on the address

"#]]);
}

#[test]
fn missing_command_shows_help_and_is_a_usage_error() {
    stderr(pointwork(&folder()), 2).says(["Usage: pointwork"]);
}

#[test]
fn unknown_command_is_a_usage_error_that_suggests() {
    stderr(run(&folder(), "biuld"), 2).says(["unrecognized subcommand 'biuld'", "'build'"]);
}

#[test]
fn wrong_log_filter_is_a_usage_error() {
    stderr(run(&folder(), "--log-level pointwork=loud build"), 2).says(["expected a level"]);
    stderr(pointwork(&folder()).env("RUST_LOG", "pointwork=loud").arg("build"), 2).says(["expected a level"]);
}

#[test]
fn version_is_that_of_the_package() {
    let expected = format!("pointwork {}\n", env!("CARGO_PKG_VERSION"));
    run(&folder(), "--version").assert().success().stdout_eq(expected);
}

#[test]
fn colours_are_off_in_a_pipe_and_on_with_the_option() {
    let folder = folder();
    let escape = '\u{1b}';
    assert!(!stderr(run(&folder, "build"), 1).contains(escape));
    assert!(stderr(run(&folder, "build --color always"), 1).contains(escape));
    let never = run(&folder, "--color never build").env("CLICOLOR_FORCE", "1");
    assert!(!stderr(never, 1).contains(escape));
    let unwanted = pointwork(&folder).env("NO_COLOR", "1").arg("build");
    assert!(!stderr(unwanted, 1).contains(escape));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = folder();
    let full = std::fs::File::create("/dev/full").expect("Linux has it");
    let status = std::process::Command::new(snapbox::cmd::cargo_bin!("pointwork"))
        .args(["new", "shop"])
        .current_dir(folder.path())
        .stdout(full)
        .stderr(std::process::Stdio::null())
        .status()
        .expect("it runs");
    assert_eq!(status.code(), Some(1));
}
