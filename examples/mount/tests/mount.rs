//! Runs each program and sends it requests over a socket: the two ways of mounting (spec A9), on each framework.

#![allow(clippy::print_stdout, reason = "the addresses and the transcript of a failed test")]

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
            .expect("it prints where it listens");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .expect(&line)
            .to_owned();
        println!("{path} listens on {address}");
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        let timeout = Some(Duration::from_secs(10));
        stream.set_read_timeout(timeout).expect("a timeout");
        stream
    }

    /// The reply to a request line, with further header lines.
    fn ask(&self, request: &str, headers: &str) -> Reply {
        self.send(&format!(
            "{request} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\n",
            self.address
        ))
    }

    fn get(&self, target: &str) -> Reply {
        self.ask(&format!("GET {target}"), "")
    }

    /// The reply to a request with a body.
    fn post(&self, target: &str, body: &str) -> Reply {
        self.send(&format!(
            "POST {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        ))
    }

    fn send(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it takes the request");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it replies");
        println!(
            "{} -> {}",
            request.lines().next().unwrap_or_default(),
            reply.lines().next().unwrap_or_default()
        );
        Reply(reply)
    }

    /// The user's own upgrade keeps working: the socket sends back every byte.
    fn upgrades(&self, framework: &str) {
        // Only behind such a head actix-web's server hands over bytes.
        let protocol = if framework == "actix" { "websocket" } else { "echo" };
        let mut stream = self.connect();
        let host = &self.address;
        write!(
            stream,
            "GET /socket HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\r\n"
        )
        .expect("a request");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status line");
        assert!(line.starts_with("HTTP/1.1 101 "), "{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).expect("a head");
        }
        for word in ["one", "two"] {
            stream.write_all(word.as_bytes()).expect("it takes bytes");
            let mut echo = [0; 3];
            reader.read_exact(&mut echo).expect("an echo");
            assert_eq!(&echo, word.as_bytes());
        }
    }
}

#[cfg(unix)]
impl Program {
    /// Ends at Ctrl-C as a program does that came to its end: the application is closed.
    fn ends(mut self) {
        self.handles_ctrl_c();
        let kill = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(kill.expect("the command `kill`").success());
        let status = self.child.wait().expect("its status");
        assert!(status.success(), "{status}");
    }

    /// Waits until the program handles the signal of Ctrl-C: it may reply before.
    fn handles_ctrl_c(&self) {
        #[cfg(target_os = "linux")]
        loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.expect("a mask").trim(), 16).expect("a mask");
            // SIGINT is signal 2.
            if caught & 2 != 0 {
                break;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A whole reply, head and body.
struct Reply(String);

impl Reply {
    fn status(&self) -> &str {
        self.0.split(' ').nth(1).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next()?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// The body; one in chunks is joined.
    fn body(&self) -> String {
        let body = self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        if self.header("transfer-encoding").is_none() {
            return body.to_owned();
        }
        let mut lines = body.split("\r\n");
        let mut joined = String::new();
        while let (Some(_), Some(piece)) = (lines.next(), lines.next()) {
            joined.push_str(piece);
        }
        joined
    }

    /// From Pointwork: within the outer middleware, outside the inner one.
    fn is_ours(&self, framework: &str, status: &str) {
        assert_eq!(self.status(), status, "{}", self.0);
        assert_eq!(self.header("x-outer"), Some(framework), "{}", self.0);
        assert_eq!(self.header("x-inner"), None, "{}", self.0);
    }

    /// From the user's application, within both of its middlewares.
    fn is_theirs(&self, framework: &str, status: &str, body: &str) {
        assert_eq!(self.status(), status, "{}", self.0);
        assert_eq!(self.body(), body, "{}", self.0);
        assert_eq!(self.header("x-outer"), Some(framework), "{}", self.0);
        assert_eq!(self.header("x-inner"), Some("yes"), "{}", self.0);
    }
}

/// The user's own routes, state, middleware and upgrade, with Pointwork before them or beside them.
fn keeps_the_users_own(program: &Program, framework: &str) {
    program.get("/own").is_theirs(framework, "200", "visit 1");
    program.get("/own").is_theirs(framework, "200", "visit 2");
    program
        .get("/none?a=b")
        .is_theirs(framework, "404", "fallback GET /none");
    let blocked = program.ask("GET /own", "x-block: 1\r\n");
    assert_eq!((blocked.status(), blocked.body().as_str()), ("403", "blocked"));
    program.upgrades(framework);
}

/// Pointwork's route under a path, with the user that the outer middleware set (spec H2, H9).
fn serves_ours(program: &Program, framework: &str, path: &str) {
    let reply = program.get(&format!("{path}/b%20c?d"));
    reply.is_ours(framework, "200");
    assert_eq!(reply.body(), "ada greets b c");
    assert_eq!(reply.header("x-params-before"), Some("0"), "{}", reply.0);
    let head = program.ask(&format!("HEAD {path}/b"), "");
    head.is_ours(framework, "200");
    assert_eq!((head.body().as_str(), head.header("content-length")), ("", Some("12")));
    let blocked = program.ask(&format!("GET {path}/b"), "x-block: 1\r\n");
    assert_eq!((blocked.status(), blocked.body().as_str()), ("403", "blocked"));
}

fn in_front(framework: &str, path: &str) {
    let program = Program::start(path);
    keeps_the_users_own(&program, framework);
    serves_ours(&program, framework, "/hello");
    // Neither 405 nor the automatic OPTIONS nor 400 nor 404 is Pointwork's here.
    program
        .post("/hello/b", "a body")
        .is_theirs(framework, "200", "posted a body");
    for (method, target) in [
        ("DELETE", "/hello/b"),
        ("OPTIONS", "/hello/b"),
        ("GET", "/hello/b/"),
        ("GET", "/hello/%ff"),
        ("GET", "/hello"),
        ("HEAD", "/none"),
    ] {
        let reply = program.ask(&format!("{method} {target}"), "");
        let body = if method == "HEAD" {
            String::new()
        } else {
            format!("fallback {method} {target}")
        };
        reply.is_theirs(framework, "404", &body);
    }
    if framework == "trillium" {
        // Its parser refuses a malformed `Host` before any handler runs.
        return;
    }
    let host = "GET /hello/b HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n";
    program.send(host).is_theirs(framework, "404", "fallback GET /hello/b");
}

/// A connection without a request does not hold the end up.
#[cfg(unix)]
fn ends(path: &str) {
    let program = Program::start(path);
    let _idle = program.connect();
    program.get("/own");
    program.ends();
}

fn below(framework: &str, path: &str) {
    let program = Program::start(path);
    keeps_the_users_own(&program, framework);
    serves_ours(&program, framework, "/api/hello");
    for target in ["/apix", "/hello/b", "/"] {
        program
            .get(target)
            .is_theirs(framework, "404", &format!("fallback GET {target}"));
    }
    for target in ["/api", "/api/", "/api/none", "/api/api/hello/b"] {
        program.get(target).is_ours(framework, "404");
    }
    program.get("/api/hello/%ff").is_ours(framework, "400");
    let refused = program.ask("DELETE /api/hello/b", "");
    refused.is_ours(framework, "405");
    assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
    program.ask("OPTIONS /api/hello/b", "").is_ours(framework, "204");
}

/// A test for each framework and way of mounting.
macro_rules! programs {
    ($($framework:ident)*) => {$(
        mod $framework {
            #[test]
            fn in_front() {
                super::in_front(stringify!($framework), env!(concat!("CARGO_BIN_EXE_mount-", stringify!($framework), "-in-front")));
            }

            #[test]
            fn below() {
                super::below(stringify!($framework), env!(concat!("CARGO_BIN_EXE_mount-", stringify!($framework), "-below")));
            }

            #[cfg(unix)]
            #[test]
            fn ends() {
                super::ends(env!(concat!("CARGO_BIN_EXE_mount-", stringify!($framework), "-in-front")));
            }
        }
    )*};
}

programs! { actix axum hyper salvo trillium }
