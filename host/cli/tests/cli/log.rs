//! A log that cannot be written stops nothing: a full disk, a reader that is gone, a reader that does not read.

use std::fs::File;
use std::io::{Read as _, pipe};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::server::{End, Server, within};
use crate::versions::configured;
use crate::{folder, write};

const ADAPTERS: [&str; 5] = ["axum", "trillium", "actix", "salvo", "hyper"];

/// Each request adds a line of that many bytes to the access log.
const LONG: usize = 4000;

/// On each adapter: sends requests to a server with an access log to such a stream, and ends it.
fn serve_everywhere<T: Into<Stdio>>(stream: impl Fn() -> T + Sync) {
    thread::scope(|scope| {
        for adapter in ADAPTERS {
            let stream = &stream;
            scope.spawn(move || serve(adapter, stream()));
        }
    });
}

fn serve(adapter: &str, stream: impl Into<Stdio>) {
    let folder = configured("");
    let server = Server::start_with(folder.path(), ["--access-log", "--adapter", adapter], |command| {
        command.stderr(stream);
    });
    // Twice as much as a pipe takes.
    request(&server, 32, LONG);
    end(server, adapter);
}

/// Sends requests, each of which has to be answered.
fn request(server: &Server, count: usize, length: usize) {
    let path = format!("/{}", "x".repeat(length));
    for number in 0..count {
        assert_eq!(server.get(&path).status, 404, "request {number}");
    }
    assert_eq!(server.get("/version").body, "1");
}

fn end(server: Server, adapter: &str) -> End {
    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0), "{adapter}");
    end
}

#[test]
fn log_on_a_full_disk_stops_no_adapter() {
    serve_everywhere(|| File::options().write(true).open("/dev/full").expect("Linux has it"));
}

#[test]
fn log_whose_reader_is_gone_stops_no_adapter() {
    serve_everywhere(|| pipe().expect("a pipe").1);
}

#[test]
fn log_that_nobody_reads_stops_no_adapter_and_not_its_end() {
    let unread = Mutex::new(Vec::new());
    serve_everywhere(|| {
        let (reader, writer) = pipe().expect("a pipe");
        unread.lock().expect("no panic").push(reader);
        writer
    });
}

#[test]
fn closed_standard_error_stops_nothing() {
    let folder = configured("");
    let server = Server::start_with(folder.path(), ["--access-log"], |command| {
        *command = within(folder.path(), command, &["sh", "-c", "exec \"$0\" \"$@\" 2>&-"]);
    });
    request(&server, 20, LONG);
    end(server, "hyper");
}

#[test]
fn dropped_lines_are_counted_and_shown_in_their_place() {
    let folder = configured("[admin]\nsocket = \"admin.sock\"");
    let (mut reader, writer) = pipe().expect("a pipe");
    let server = Server::start_with(folder.path(), ["--access-log"], |command| {
        command.stderr(writer);
    });
    let dropped = || {
        let metrics = server.admin("GET", "/metrics", b"").body;
        let name = "pointwork_log_lines_dropped_total ";
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        value.expect("the metric").parse::<usize>().expect("a number")
    };
    assert_eq!(dropped(), 0);
    // 4 MiB wait at most.
    let mut count = 0;
    while dropped() == 0 {
        assert!(count < 4000, "nothing is dropped");
        request(&server, 20, 16 * LONG);
        count += 21;
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let reading = {
        let log = log.clone();
        thread::spawn(move || {
            let mut piece = [0; 65536];
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                log.lock().expect("no panic").extend_from_slice(&piece[..length]);
            }
        })
    };
    let text = || String::from_utf8_lossy(&log.lock().expect("no panic")).into_owned();
    server.until(|| text().contains("were dropped") || text().contains("was dropped"));
    let dropped = dropped();
    end(server, "hyper");
    reading.join().expect("it ends with the server");
    let log = text();
    let served = log.matches("pointwork::access: ").count();
    assert_eq!(served + dropped, count, "each line is there or counted");
    let notice = format!(" WARN pointwork::log: {dropped} log line");
    assert_eq!(log.matches(&notice).count(), 1, "{} bytes", log.len());
    assert!(log.contains("SIGTERM"), "later lines are there");
}

#[test]
fn standard_output_that_is_full_does_not_stop_a_server() {
    let folder = configured("[admin]\nsocket = \"admin.sock\"");
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let server = Server::start_without_banner(folder.path(), |command| {
        command.stdout(full);
    });
    server.logged("the banner cannot be written to standard output: ");
    server.until(|| {
        server
            .admin_on("admin.sock", "GET", "/health", b"")
            .is_ok_and(|reply| reply.status == 200)
    });
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn standard_output_that_nobody_reads_does_not_stop_a_server() {
    let folder = folder();
    // Its banner is larger than a pipe.
    write(&folder, "many.wasm", crate::versions::with_routes(2000));
    let (_reader, writer) = pipe().expect("a pipe");
    let server = Server::start_without_banner(folder.path(), |command| {
        command.arg("many.wasm").args(["--admin", "admin.sock"]).stdout(writer);
    });
    server.until(|| {
        server
            .admin_on("admin.sock", "GET", "/ready", b"")
            .is_ok_and(|reply| reply.status == 200)
    });
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn end_of_a_server_loses_no_line_and_their_order_is_that_of_the_requests() {
    let folder = configured("");
    for format in ["text", "json"] {
        let server = Server::start(folder.path(), ["--access-log", "--log-format", format]);
        let ids: Vec<_> = (0..300)
            .map(|_| server.get("/version").header("x-request-id").expect("an id").to_owned())
            .collect();
        let end = server.stop("TERM");
        assert_eq!(end.code, Some(0));
        let lines: Vec<_> = end
            .errors
            .lines()
            .filter(|line| line.contains("pointwork::access"))
            .collect();
        assert_eq!(lines.len(), ids.len(), "{format}");
        for (line, id) in lines.iter().zip(&ids) {
            assert!(line.contains(id.as_str()), "{format}: {id} is not in {line}");
        }
        let last = end.errors.lines().last().expect("a line");
        assert!(last.contains("SIGTERM"), "{last}");
    }
}
