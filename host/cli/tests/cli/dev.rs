//! `pointwork dev`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::example::target_dir;
use crate::server::Server;
use crate::{folder, pointwork, refused, run, sdk, stderr, write};

/// A project with one controller. Its functions are the handlers.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new(name: &str, handlers: &str) -> Self {
        let folder = folder();
        let sdk = sdk();
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\npointwork-guest = {{ path = {sdk:?} }}\n"
        );
        write(&folder, "Cargo.toml", &manifest);
        let configuration = "[[module]]\nname = \"shop\"\npath = \"shop.wasm\"\nbuild = \".\"\ncpu = \"500ms\"\n";
        write(&folder, "pointwork.toml", configuration);
        let project = Self { folder };
        project.save(handlers);
        project
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn save(&self, handlers: &str) {
        let text = format!(
            "use pointwork_guest::{{controller, module}};\n\npub struct Shop;\n\n#[controller]\nimpl Shop {{\n\
             {handlers}\n}}\n\nmodule! {{ Shop }}\n"
        );
        write(self.path(), "src/lib.rs", &text);
    }

    fn start(&self) -> Server {
        Server::develop(self.path(), &target_dir())
    }
}

/// A handler of `GET /a` with that text.
fn handler(text: &str) -> String {
    format!("    #[get(\"a\")]\n    fn a() -> &'static str {{ \"{text}\" }}")
}

#[test]
fn a_change_that_is_saved_is_served() {
    let project = Project::new("dev-saves", &handler("one"));
    let server = project.start();
    assert_eq!(server.get("/a").body, "one");
    let more = "\n    #[get(\"b\")]\n    fn b() -> &'static str { \"new\" }";
    project.save(&(handler("two") + more));
    server.until(|| server.get("/a").body == "two");
    server.logged("after src/lib.rs changed");
    server.logged("added GET /b");
    assert_eq!(server.get("/b").body, "new");

    // Another save at each moment of a build.
    for count in 0..40 {
        project.save(&handler(&format!("three {count}")));
        thread::sleep(Duration::from_millis(50));
    }
    server.until(|| server.get("/a").body == "three 39");
    server.logged("removed GET /b");

    // A new file that is included, in a new folder.
    write(project.path(), "texts/a.txt", "four");
    project.save("    #[get(\"a\")]\n    fn a() -> &'static str { include_str!(\"../texts/a.txt\") }");
    server.until(|| server.get("/a").body == "four");
    write(project.path(), "texts/a.txt", "five");
    server.until(|| server.get("/a").body == "five");

    assert!(!project.path().join("shop.wasm").exists(), "it is for development only");
    write(project.path(), "pointwork.toml", "");
    server.logged("pointwork.toml changed; `pointwork dev` reads it when it starts");
}

#[test]
fn code_that_does_not_compile_is_shown_and_the_version_before_serves_on() {
    let project = Project::new("dev-errors", &handler("one"));
    let server = project.start();
    project.save(&handler("two").replace('{', ""));
    server.logged("could not compile `dev-errors`");
    server.logged("the version before of module `shop` serves on");
    assert_eq!(server.get("/a").body, "one");
    // It compiles, and does not export the contract.
    write(project.path(), "src/lib.rs", "");
    server.logged("list what the module serves, once per crate");
    assert_eq!(server.get("/a").body, "one");
    project.save(&handler("three"));
    server.until(|| server.get("/a").body == "three");
}

#[test]
fn project_that_does_not_compile_is_waited_for() {
    let project = Project::new("dev-waits", "    fn broken( {");
    let path = project.path().to_owned();
    let server = thread::scope(|scope| {
        scope.spawn(|| {
            let is_waiting = || {
                let log = std::fs::read_to_string(path.join("errors.log")).unwrap_or_default();
                log.contains("waiting for a change; the server starts when every module is loaded")
            };
            while !is_waiting() {
                thread::sleep(Duration::from_millis(20));
            }
            project.save(&handler("one"));
        });
        // Until the address is printed.
        project.start()
    });
    assert!(server.log().contains("--> src/lib.rs:"), "{}", server.log());
    assert_eq!(server.get("/a").body, "one");
}

#[test]
fn a_reply_tells_the_whole_story_of_a_crash() {
    let crashing = "    #[get(\":id\")]\n    fn show(id: pointwork_guest::Path<usize>) -> String {\n        let stock = vec![1, 2];\n        \
                    stock[*id].to_string()\n    }\n    #[get(\"loop\")]\n    fn turn() -> String {\n        \
                    loop { std::hint::black_box(1); }\n    }";
    let project = Project::new("dev-crashes", crashing);
    let server = project.start();
    // More crashes than a circuit breaker lets through.
    for _ in 0..25 {
        let reply = server.get("/7");
        assert_eq!(reply.status, 500);
        let body = reply.json();
        assert_eq!(body["message"], "internal error");
        assert_eq!(body["handler"], "Shop.show");
        assert_eq!(body["route"], "GET /:id");
        let crash = &body["crashes"][0];
        assert_eq!(crash["module"], "shop");
        let lines = lines(crash);
        assert_eq!(
            lines[..3],
            [
                "the guest panicked: index out of bounds: the len is 2 but the index is 7",
                "    at src/lib.rs:10",
                "error while executing at wasm backtrace:"
            ]
        );
        assert!(lines.iter().any(|line| line.contains("src/lib.rs:10:")), "{lines:#?}");
    }
    assert_eq!(server.get("/1").body, "2");

    let body = server.get("/loop").json();
    let crash = &body["crashes"][0];
    assert_eq!(
        (&crash["limit"], &body["handler"]),
        (&"cpu".into(), &"Shop.turn".into())
    );
    let lines = lines(crash);
    assert!(lines.iter().any(|line| line.contains("src/lib.rs:14:")), "{lines:#?}");
}

fn lines(crash: &Value) -> Vec<&str> {
    let lines = crash["message"].as_array().expect("lines").iter();
    lines.filter_map(Value::as_str).collect()
}

#[test]
fn port_that_is_taken_is_known_before_the_build() {
    let project = Project::new("dev-port", "    fn broken( {");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    let text = stderr(pointwork(project.path()).args(["dev", "--listen", &address]), 6);
    assert!(
        text.starts_with(&format!("error: cannot listen on `{address}`")),
        "{text}"
    );
}

#[test]
fn configuration_without_sources_is_refused() {
    let folder = folder();
    write(&folder, "pointwork.toml", "[[module]]\npath = \"shop.wasm\"\n");
    refused(run(&folder, "dev"), 3).stderr_eq(
        "error: no module of `pointwork.toml` has a `build`, so that there are no sources to watch\nhint: [..]\n...\n",
    );
}

/// Starts `pointwork dev` with other streams, and returns its address.
#[cfg(unix)]
fn start_with(project: &Project, port: u16, change: impl FnOnce(&mut std::process::Command)) -> Server {
    Server::start_without_banner(project.path(), |command| {
        let address = format!("127.0.0.1:{port}");
        *command = crate::server::command_at(&address, "dev", project.path(), [""; 0]);
        command.env("CARGO_TARGET_DIR", target_dir());
        change(command);
    })
}

/// A pipe whose reader has gone.
#[cfg(unix)]
fn closed_pipe() -> std::process::Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[cfg(unix)]
#[test]
fn streams_that_nobody_reads_any_more_do_not_end_it() {
    let project = Project::new("dev-pipes", &handler("one"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it has one").port();
    drop(listener);
    let get = || -> Option<String> {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
        let reply = crate::server::try_request(&mut stream, "GET", "/a", "host: dev\r\n", b"").ok()?;
        Some(reply.body)
    };
    let server = start_with(&project, port, |command| {
        command.stdout(closed_pipe()).stderr(closed_pipe());
    });
    server.until(|| get().as_deref() == Some("one"));
    project.save(&handler("two").replace('{', ""));
    thread::sleep(Duration::from_secs(1));
    project.save(&handler("two"));
    server.until(|| get().as_deref() == Some("two"));
    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0));
}

#[test]
fn address_that_others_can_reach_is_warned_of_because_of_the_crashes() {
    let project = Project::new("dev-open", "    fn broken( {");
    for (address, is_open) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let server = Server::start_without_banner(project.path(), |command| {
            *command = crate::server::command_at(address, "dev", project.path(), [""; 0]);
            command.env("CARGO_TARGET_DIR", target_dir());
        });
        server.logged("building module");
        let is_warned = server.log().contains("warning: replies show crashes");
        assert_eq!(is_warned, is_open, "{}", server.log());
    }
}
