//! `pointwork dev`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use pointwork_test_clock::real::until_blocking;
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
#[expect(clippy::disallowed_methods, reason = "the saves come at each moment of a build")]
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
}

#[test]
fn configuration_that_changes_is_read_again_and_a_wrong_one_is_shown() {
    let crashing = "\n    #[get(\"crash\")]\n    fn crash() -> String { panic!() }";
    let project = Project::new("dev-configuration", &(handler("one") + crashing));
    let server = project.start();
    assert_eq!(server.get("/a").body, "one");
    let before = std::fs::read_to_string(project.path().join("pointwork.toml")).expect("it is there");
    write(project.path(), "pointwork.toml", format!("prefix = \"v2\"\n{before}"));
    server.until(|| server.serves("/v2/a", "one"));
    assert_eq!(server.get("/a").status, 404);

    write(
        project.path(),
        "pointwork.toml",
        format!("prefix = \"v3\"\nadaptor = \"hyper\"\n{before}"),
    );
    server.logged("unknown key `adaptor`");
    server.logged("pointwork.toml changed; the configuration before serves on");
    assert_eq!(server.get("/v2/a").body, "one");
    let notice = server.get("/v2/crash").json()["notice"].to_string();
    assert!(notice.contains("unknown key `adaptor`"), "{notice}");
    // Sources are built all the same.
    project.save(&handler("two"));
    server.until(|| server.get("/v2/a").body == "two");

    write(project.path(), "pointwork.toml", format!("prefix = \"v4\"\n{before}"));
    server.until(|| server.serves("/v4/a", "two"));
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn a_file_that_the_configuration_names_is_read_again_when_it_changes() {
    let project = Project::new(
        "dev-files",
        "    #[get(\"a\")]\n    fn a() -> String { std::env::var(\"TOKEN\").unwrap_or_default() }",
    );
    let before = std::fs::read_to_string(project.path().join("pointwork.toml")).expect("it is there");
    let more = "[module.variables]\nTOKEN = { file = \"token\" }\n\n\
                [channels.db]\ndriver = \"sqlite\"\npath = \"data/shop.sqlite\"\nschema = \"tables/schema.sql\"\n";
    write(project.path(), "pointwork.toml", before + more);
    write(project.path(), "token", "one");
    let schema = "CREATE TABLE IF NOT EXISTS products (name TEXT);\n";
    write(project.path(), "tables/schema.sql", schema);
    let server = project.start();
    assert_eq!(server.get("/a").body, "one");
    write(project.path(), "token", "two");
    server.until(|| server.serves("/a", "two"));

    std::fs::remove_file(project.path().join("token")).expect("removed");
    server.logged("the variable `TOKEN` has no value");
    server.logged("token changed; the configuration before serves on");
    assert_eq!(server.get("/a").body, "two");
    write(project.path(), "token", "three");
    server.until(|| server.serves("/a", "three"));

    write(project.path(), "tables/schema.sql", "CREATE TABEL products");
    server.logged("tables/schema.sql changed; the configuration before serves on");
    server.logged("the schema `");
    assert_eq!(server.get("/a").body, "three");
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn each_file_that_changed_is_named_when_a_build_fails() {
    let project = Project::new("dev-names", &handler("one"));
    write(project.path(), "src/words.rs", "pub const WORD: &str = \"one\";");
    let module = "mod words;\n";
    let source = std::fs::read_to_string(project.path().join("src/lib.rs")).expect("it is there");
    let source = format!("{module}{}", source.replace("\"one\"", "words::WORD"));
    write(project.path(), "src/lib.rs", &source);
    let server = project.start();
    assert_eq!(server.get("/a").body, "one");
    write(project.path(), "src/lib.rs", format!("{source}\n// Another line.\n"));
    write(project.path(), "src/words.rs", "pub const WORD: &str = 1;");
    server.logged("src/lib.rs and src/words.rs changed; the version before of module `shop` serves on");
}

#[cfg(unix)]
#[test]
fn folder_that_was_moved_is_named() {
    let project = Project::new("dev-moved", &handler("one"));
    let server = project.start();
    let (before, after) = (project.path().to_owned(), project.path().with_extension("moved"));
    std::fs::rename(&before, &after).expect("moved");
    write(&after, "src/lib.rs", "// Another source.");
    let log = || std::fs::read_to_string(after.join("errors.log")).unwrap_or_default();
    let message = format!(
        "the folder of module `shop` was moved or deleted: `{}`",
        before.display()
    );
    server.until(|| log().contains(&message));
    assert!(!log().contains("install Rust"), "{}", log());
    std::fs::rename(&after, &before).expect("moved back");
    project.save(&handler("two"));
    server.until(|| server.get("/a").body == "two");
}

#[test]
fn an_error_of_a_call_is_shown_as_a_crash_is() {
    let handlers = "    #[get(\"unknown\")]\n    fn unknown(ctx: &Context) -> Result<String, Failure> {\n        \
                    ctx.call::<Nobody>(())\n    }\n    #[get(\"odd\")]\n    fn odd(ctx: &Context) -> Result<String, Failure> {\n        \
                    ctx.call::<Word>(())\n    }";
    let project = Project::new("dev-calls", handlers);
    let source = std::fs::read_to_string(project.path().join("src/lib.rs")).expect("it is there");
    let source = source
        .replace(
            "use pointwork_guest::{",
            "use pointwork_guest::{Context, Failure, channel, events, ",
        )
        .replace("module! { Shop }", "module! { Shop; channels: Words }");
    let rest = "events! {\n    pub Nobody = \"nobody:listens\": () => String;\n    pub Word = \"words:word\": () => String;\n}\n\
                pub struct Words;\n#[channel(\"words\")]\nimpl Words {\n    #[on(\"word\")]\n    fn word() -> u32 {\n        7\n    }\n}\n";
    write(project.path(), "src/lib.rs", source + rest);
    let server = project.start();
    for (path, handler, message) in [
        (
            "/unknown",
            "Shop.unknown",
            "`nobody:listens` failed with `unknown-event`: ",
        ),
        (
            "/odd",
            "Shop.odd",
            "`words:word` failed with `bad-payload`: the result does not fit: ",
        ),
    ] {
        let reply = server.get(path);
        let body = reply.json();
        assert_eq!((reply.status, &body["handler"]), (500, &handler.into()), "{body}");
        let error = &body["crashes"][0];
        assert_eq!((&error["kind"], &error["module"]), (&"error".into(), &"shop".into()));
        assert!(lines(error)[0].starts_with(message), "{body}");
    }
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
            let waits = until_blocking("the command waits for a change", || is_waiting().then_some(()));
            waits.expect("the build fails");
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
#[expect(
    clippy::disallowed_methods,
    reason = "nothing reports the failure of a build whose output nobody reads"
)]
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
