//! Runs each program and sends it requests over a socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running program. Dropping it kills the process.
struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(path: &str) -> Self {
        let mut child = Command::new(path).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says where it listens");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .expect(&line)
            .to_owned();
        Self { child, address }
    }

    /// The whole reply to a GET, head and body.
    fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a timeout");
        let request = format!(
            "GET {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).expect("it takes the request");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it replies");
        reply
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn header<'r>(reply: &'r str, name: &str) -> Option<&'r str> {
    let head = reply.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn body(reply: &str) -> &str {
    reply.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// The application's own route and middleware work (spec A9), the middleware sees no parameters before the handler does
/// (spec H2), and an unknown path is the application's 404 with the middleware's header.
fn stands_in_its_user_s_application(framework: &str, path: &str) {
    let program = Program::start(path);
    let own = program.get("/own");
    assert!(own.starts_with("HTTP/1.1 200 "), "{own}");
    assert_eq!(body(&own), "the application's own");
    let ours = program.get("/api/hello/b%20c?d");
    assert!(ours.starts_with("HTTP/1.1 200 "), "{ours}");
    assert_eq!(body(&ours), "ada greets b c");
    assert_eq!(header(&ours, "x-params-before"), Some("0"), "{ours}");
    let missing = program.get("/api/api/hello/b");
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    for reply in [&own, &ours, &missing] {
        assert_eq!(header(reply, "x-middleware"), Some(framework), "{reply}");
    }
}

#[test]
fn axum() {
    stands_in_its_user_s_application("axum", env!("CARGO_BIN_EXE_mount-axum"));
}

#[test]
fn trillium() {
    stands_in_its_user_s_application("trillium", env!("CARGO_BIN_EXE_mount-trillium"));
}

#[test]
fn actix() {
    stands_in_its_user_s_application("actix", env!("CARGO_BIN_EXE_mount-actix"));
}

#[test]
fn salvo() {
    stands_in_its_user_s_application("salvo", env!("CARGO_BIN_EXE_mount-salvo"));
}

#[test]
fn hyper() {
    stands_in_its_user_s_application("hyper", env!("CARGO_BIN_EXE_mount-hyper"));
}
