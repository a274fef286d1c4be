//! Requests from Python, and from Rust in turn: `cargo bench -p pointwork-python`. In process: plain, with a callback that answers at
//! once, and with an answer from another thread. Over loopback: mounted in uvicorn, and by the built-in server.

#![allow(clippy::print_stdout, reason = "it tells which Python it measures")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::in_turn;
use pointwork_suite::fixtures::python::{binding, environment, package, pythons};

#[path = "../../embed/benches/measure/mod.rs"]
mod measure;

fn work() -> PathBuf {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-bench");
    fs::create_dir_all(&work).expect("a folder below the target folder");
    work
}

fn program(python: &Path, site: &Path, script: &str) -> Command {
    let mut program = Command::new(python);
    program.arg(binding().join("benches").join(script));
    program.env("PYTHONPATH", site).env("PYTHONDONTWRITEBYTECODE", "1");
    program
}

fn main() {
    let site = package(&work());
    let component = work().join("bench.wasm");
    fs::write(&component, measure::component()).expect("written");
    let (version, python) = &pythons()[0];
    println!("Python {version}");
    let python = environment(&work(), version, python, "benches/requirements.txt");

    let command = measure::command(&work(), &component);
    let mut handle = program(&python, &site, "handle.py");
    let numbers = [measure::REQUESTS, measure::LATER, measure::IN_FLIGHT];
    handle.arg(&component).arg(measure::SETTINGS);
    handle.args(numbers.map(|number| number.to_string()));
    let names = [
        "plain, by `await`, µs of the thread",
        "with a callback that answers at once, by `await`, µs of the thread",
        "answered by an `async def` on another thread, µs of the processor",
        "answered by an `async def` on the same event loop, µs of the processor",
    ];
    measure::in_process("Python", &mut handle, &names);

    let serve = |way| {
        let mut serve = program(&python, &site, "serve.py");
        serve.arg(way).arg(&component);
        serve
    };
    in_turn(vec![
        ("bare ASGI, by hand", serve("by-hand"), 0),
        ("`app.asgi`", serve("mounted"), 0),
        ("FastAPI", serve("fastapi"), 1),
        ("`pointwork serve`", command, 3),
        ("`app.serve`", serve("built-in"), 3),
    ]);
}
