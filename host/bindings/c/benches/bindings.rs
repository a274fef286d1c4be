//! Requests from C, and from Rust in turn: `cargo bench -p pointwork-c`. In process: plain, with a callback that answers at once, and
//! with an answer from another thread. Over loopback: mounted in libmicrohttpd, and by the built-in server.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use measure::in_turn;

#[path = "../../embed/benches/measure/mod.rs"]
mod measure;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the library, the component and the programs.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-bench");
    fs::create_dir_all(&folder).expect("created");
    let library = env::current_exe().expect("a path").with_file_name("libpointwork_c.so");
    for name in ["libpointwork.so", "libpointwork.so.1"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(&library, link).expect("linked");
    }
    fs::write(folder.join("shop.wasm"), measure::component()).expect("written");
    folder
}

/// A program of C with its arguments.
fn program(folder: &Path, source: &str, libraries: &[&str]) -> Command {
    let source = here().join(source);
    let program = folder.join(source.file_stem().expect("a name"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-pthread", "-o"]).arg(&program).arg(source);
    gcc.arg("-I").arg(here().join("include")).arg("-L").arg(folder);
    gcc.args(libraries).arg(format!("-Wl,-rpath,{}", folder.display()));
    let compiled = gcc.status().expect("gcc starts: install the package `gcc`");
    assert!(compiled.success(), "is the package `libmicrohttpd-dev` installed?");
    Command::new(program)
}

fn main() {
    let folder = folder();
    let component = folder.join("shop.wasm");
    let command = measure::command(&folder, &component);
    let mut handle = program(&folder, "benches/handle.c", &["-lpointwork"]);
    let numbers = [measure::REQUESTS, measure::LATER, measure::IN_FLIGHT];
    handle.arg(&component).arg(measure::SETTINGS);
    handle.args(numbers.map(|number| number.to_string()));
    measure::in_process("C", &mut handle, &[]);

    let mut mounted = program(&folder, "examples/microhttpd.c", &["-lpointwork", "-lmicrohttpd"]);
    let mut served = program(&folder, "examples/hello.c", &["-lpointwork"]);
    let by_hand = program(&folder, "benches/by_hand.c", &["-lmicrohttpd"]);
    mounted.arg(&component);
    served.arg(&component);
    in_turn(vec![
        ("libmicrohttpd, by hand", by_hand, 0),
        ("libmicrohttpd, mounted", mounted, 0),
        ("`pointwork serve`", command, 2),
        ("`pw_app_serve`", served, 2),
    ]);
}
