//! `pointwork completions`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::{folder, pointwork, run, stderr};

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

fn script(shell: &str) -> String {
    let output = pointwork(&folder())
        .args(["completions", shell])
        .output()
        .expect("it runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{shell}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn script_of_each_shell_has_every_command() {
    for shell in SHELLS {
        let script = script(shell);
        for command in [
            "new",
            "build",
            "serve",
            "routes",
            "check",
            "modules",
            "swap",
            "remove",
            "rollback",
            "doctor",
            "completions",
            "access-log",
            "log-level",
        ] {
            assert!(script.contains(command), "{shell}: `{command}` is missing");
        }
        assert!(!script.contains("compile-worker"), "{shell}: the command is hidden");
    }
}

#[test]
fn bash_accepts_its_script() {
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this test needs bash");
    let mut stdin = bash.stdin.take().expect("piped");
    stdin.write_all(script("bash").as_bytes()).expect("read");
    drop(stdin);
    let output = bash.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn unknown_shell_is_a_usage_error_that_lists_them() {
    let text = stderr(run(&folder(), "completions tcsh"), 2);
    assert!(SHELLS.iter().all(|shell| text.contains(shell)), "{text}");
}
