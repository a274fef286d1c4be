//! A request of a module in process, from C and from Rust, in turn: `cargo bench -p pointwork-c --bench handle`. The figures are
//! medians of the processor time of the calling thread, in µs.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use futures_executor::block_on;
use pointwork::http::Request;
use pointwork::{App, Body, Delivery, Failure, Payload};
use pointwork_suite::guest::{Controller, Guest, Program};

const ROUNDS: usize = 30;
const REQUESTS: usize = 5_000;

/// The processor time of this thread, in µs.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is a place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    #[expect(clippy::cast_precision_loss, reason = "a duration of minutes")]
    let micros = time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3;
    micros
}

fn requests(app: &App, path: &str) -> f64 {
    let begun = now();
    for _ in 0..REQUESTS {
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        drop(block_on(app.handle(request.expect("a request"))));
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let number = REQUESTS as f64;
    (now() - begun) / number
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-bench");
    fs::create_dir_all(&folder).expect("created");
    let library = env::current_exe().expect("a path").with_file_name("libpointwork_c.so");
    for name in ["libpointwork.so", "libpointwork.so.1"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(&library, link).expect("linked");
    }
    let controller = Controller::new("Shop", "")
        .get("/plain", Program::text("plain"))
        .get("/ask", Program::text("1").call("db:ask"));
    let component = Guest::of(controller).build();
    fs::write(folder.join("shop.wasm"), &component).expect("written");

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, rpath) = (folder.join("handle"), format!("-Wl,-rpath,{}", folder.display()));
    let compiled = Command::new("gcc")
        .args(["-O2", "-Wall", "-o"])
        .arg(&program)
        .arg(here.join("benches/handle.c"))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(&folder)
        .args(["-lpointwork", &rpath])
        .status()
        .expect("gcc starts: install the package `gcc`");
    assert!(compiled.success());
    let mut c = Command::new(program)
        .arg(folder.join("shop.wasm"))
        .args([ROUNDS.to_string(), REQUESTS.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (mut turn, mut figures) = (
        c.stdin.take().expect("a pipe"),
        BufReader::new(c.stdout.take().expect("a pipe")).lines(),
    );

    let app = App::new().expect("it starts");
    let listener = |_: Delivery, _: Payload| async { Ok::<_, Failure>(Payload::null()) };
    app.channel("db").on_raw("ask", listener).expect("it listens");
    block_on(app.module("shop").bytes(component).load()).expect("it loads");
    requests(&app, "/plain");
    requests(&app, "/ask");
    let mut all = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        let line = figures.next().expect("a line").expect("text");
        let of_c = line.split(' ').map(|figure| figure.parse::<f64>().expect("a number"));
        let of_rust = [requests(&app, "/plain"), requests(&app, "/ask")];
        all.iter_mut()
            .zip(of_c.chain(of_rust))
            .for_each(|(all, figure)| all.push(figure));
        let _ = turn.write_all(b"\n");
    }
    drop(turn);
    assert!(c.wait().expect("it ends").success());
    let [c_plain, c_ask, rust_plain, rust_ask] = all.map(median);
    println!("| request | Rust | C | C over Rust |");
    println!("|---|---|---|---|");
    println!(
        "| plain | {rust_plain:.2} | {c_plain:.2} | {:.2} |",
        c_plain - rust_plain
    );
    println!(
        "| with a callback | {rust_ask:.2} | {c_ask:.2} | {:.2} |",
        c_ask - rust_ask
    );
}
