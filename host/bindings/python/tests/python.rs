//! The tests of the Python package: pytest and mypy, with the oldest Python that is found; `POINTWORK_ALL=1` takes every one.
//!
//! They run in virtual environments below the target folder, with the extension module that cargo built for this test, so
//! that the engine is compiled once. `POINTWORK_PYTHONS` names the interpreters instead, separated by spaces;
//! `POINTWORK_PYTEST` has arguments for pytest, such as `-k exit`. `POINTWORK_LONG=1` runs the long forms.
#![allow(clippy::print_stdout, reason = "it shows the output of pytest")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use pointwork_suite::fixtures::hosts::is_wanted;
use pointwork_suite::fixtures::python::{binding, environment, package, pythons, run};
use pointwork_suite::guest::{Controller, End, Guest, Program, ReplyBody, Step};
use pointwork_suite::languages::compiler_of_programs;

/// The folder of cargo's target folder that is these tests' own.
fn work() -> PathBuf {
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(&work).expect("a folder below the target folder");
    work
}

/// The components that the tests load, each as a file.
fn guests() -> PathBuf {
    let folder = work().join("guests");
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, guest: Guest| fs::write(folder.join(name), guest.build()).expect("it is written");
    let chunks = ["a", "b", "c"].map(str::to_owned).to_vec();
    let stream = Program::new().step(Step::Stream(200, chunks));
    let stream = stream.step(Step::Finish).ends(End::Deferred);
    let shop = Guest::with(
        Controller::new("Shop", "")
            .get("/ask", Program::text("said").call("db:ask"))
            .get("/plain", Program::text("plain"))
            .get("/items/:id", Program::new().param("id").call("db:item"))
            .get("/hand", Program::text("over").hands_over("db:take"))
            .get("/stream", stream)
            .post("/echo", Program::new().step(Step::Echo).ends(End::Deferred))
            .takes("stream"),
    );
    write("shop.wasm", shop.clone());
    write("shop-async.wasm", shop.asynchronous());
    write(
        "next.wasm",
        Guest::with(Controller::new("Shop", "").get("/plain", Program::text("next"))),
    );
    write(
        "faults.wasm",
        Guest::with(
            Controller::new("Faults", "")
                .get("/trap", Program::new().ends(End::Trap))
                .get("/recurse", Program::new().ends(End::Overflow))
                .get("/fine", Program::new().replies(ReplyBody::Empty)),
        ),
    );
    folder
}

fn python_test(site: &Path, guests: &Path, version: &str, python: &str) {
    let python = environment(&work(), version, python, "requirements.txt");
    println!("Python {version}: {}", python.display());
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "--strict-markers"]).current_dir(binding());
    if let Ok(more) = env::var("POINTWORK_PYTEST") {
        tests.args(more.split_whitespace());
    }
    tests.env("PYTHONPATH", site).env("POINTWORK_GUESTS", guests);
    tests.env("PYTHONDONTWRITEBYTECODE", "1").envs([compiler_of_programs()]);
    println!("{}", run(&mut tests));
}

#[test]
fn the_package_passes_its_tests() {
    if !is_wanted("python") {
        return;
    }
    let (site, guests) = (package(&work()), guests());
    let mut pythons = pythons();
    // The oldest Python has the fewest features. `tests/run --all` adds the newer versions.
    if env::var_os("POINTWORK_ALL").is_none() {
        pythons.truncate(1);
    }
    for (version, python) in pythons {
        python_test(&site, &guests, &version, &python);
    }
}

#[test]
fn the_package_and_its_stubs_are_typed() {
    if !is_wanted("python") {
        return;
    }
    let pythons = pythons();
    let (version, python) = &pythons[0];
    let python = environment(&work(), version, python, "requirements.txt");
    let cache = work().join("mypy");
    let mut check = Command::new(python);
    check
        .args(["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"])
        .arg(cache);
    run(check
        .args(["python/pointwork", "tests/typed.py"])
        .current_dir(binding()));
}
