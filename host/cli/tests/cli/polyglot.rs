//! The example `examples/polyglot`: the shop in programs of other languages gives the replies of the command, and swaps its
//! controllers while it serves.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use pointwork_suite::fixtures::hosts::is_wanted;
use pointwork_suite::fixtures::python::{environment, package, pythons};
use pointwork_suite::guest::{Controller, Guest, Program};
use pointwork_test_clock::real::{PATIENCE, until_blocking};
use serde_json::json;
use snapbox::cmd::cargo_bin;

use crate::example::{Example, controllers, directory, target_dir};
use crate::products::REQUESTS;
use crate::server::{End, Reply, Server};
use crate::{cache, folder};

/// Each of these behaviours, in both languages.
macro_rules! in_both_languages {
    ($($behaviour:ident),+ $(,)?) => {
        mod c {
            $(#[test] fn $behaviour() { crate::polyglot::Language::C.shows(crate::polyglot::$behaviour) })+
        }
        mod python {
            $(#[test] fn $behaviour() { crate::polyglot::Language::Python.shows(crate::polyglot::$behaviour) })+
        }
    };
}

in_both_languages!(
    replies_are_those_of_the_command,
    a_swap_while_it_serves_loses_no_request,
    wrong_arguments_and_missing_tools_are_named,
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Python,
}

/// A Python with what the program needs, and the folder of the package.
static PYTHON: LazyLock<(PathBuf, PathBuf)> = LazyLock::new(|| {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (version, python) = &pythons()[0];
    // The environment is that of the binding's own tests.
    let python = environment(&work.join("python"), version, python, "requirements.txt");
    (python, package(&work.join("polyglot")))
});

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Python => "python",
        }
    }

    fn shows(self, behaviour: fn(Self)) {
        if is_wanted(self.name()) {
            behaviour(self);
        }
    }

    /// The folder of its program.
    fn directory(self) -> PathBuf {
        directory().join("../polyglot").join(self.name())
    }

    /// The program, with a database of its own and with what cargo has built for this test.
    fn command(self, folder: &Path) -> Command {
        let mut run = Command::new(self.directory().join("run"));
        run.arg("--database").arg(folder.join("products.sqlite"));
        run.env("CARGO_TARGET_DIR", target_dir())
            .env("POINTWORK", cargo_bin!("pointwork"))
            .env("XDG_CACHE_HOME", cache())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("errors.log")).expect("created"));
        match self {
            Self::C => {
                let program = env::current_exe().expect("a path");
                let library = program.parent().expect("a folder").join("libpointwork_c.so");
                run.env("POINTWORK_LIBRARY", library);
            }
            Self::Python => {
                let (python, site) = &*PYTHON;
                run.env("POINTWORK_PYTHON", python).env("PYTHONPATH", site);
                run.env("PYTHONDONTWRITEBYTECODE", "1");
            }
        }
        run
    }

    fn start(self, folder: &Path, arguments: &[&str]) -> Server {
        // Programs are built in the same folders, by this process and by others.
        let builds = File::create(target_dir().with_extension("polyglot.lock")).expect("created");
        builds.lock().expect("the build of another test ends");
        let mut command = self.command(folder);
        command.args(arguments);
        Server::start_in(command, folder)
    }
}

/// A reply as the test compares it: the values of two headers differ from request to request, and two headers are the server's own.
fn shown(reply: &Reply) -> (u16, Vec<(String, &str)>, &str) {
    let of_the_server = ["connection", "server"];
    let each_time = ["date", "x-request-id"];
    let headers = reply
        .headers()
        .filter(|(name, _)| !of_the_server.contains(&&**name))
        .map(|(name, value)| {
            let value = if each_time.contains(&&*name) { "" } else { value };
            (name, value)
        });
    let mut headers: Vec<_> = headers.collect();
    headers.sort_unstable();
    (reply.status, headers, &reply.body)
}

/// More requests, after [`REQUESTS`].
const MORE: &[(&str, &str, Option<&str>)] = &[
    ("HEAD", "/products/1", None),
    ("HEAD", "/health", None),
    ("GET", "/products/%31", None),
    ("GET", "/products/9223372036854775808", None),
    ("PATCH", "/products/9223372036854775808", Some(r#"{"name": "Blau"}"#)),
    ("GET", "/products/99/label", None),
    ("POST", "/products", Some("")),
    ("POST", "/products", Some("{")),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "", "name": "Rot", "price_cents": 1}"#),
    ),
    ("PATCH", "/products/1", Some(r#"{"price_cents": -1}"#)),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "\"\\\n\u0001", "name": "😀 \u00fc", "price_cents": 9223372036854775807}"#),
    ),
    ("GET", "/products/search?q=%F0%9F%98%80", None),
    (
        "PUT",
        "/products/99",
        Some(r#"{"sku": "Q", "name": "Q", "price_cents": 2}"#),
    ),
    ("DELETE", "/products/2", None),
    ("GET", "/products/2/views", None),
    ("GET", "/health", None),
    ("GET", "/products?per_page=100", None),
];

fn replies_are_those_of_the_command(language: Language) {
    let (of_command, of_program) = (Example::Native.built(), folder());
    let command = Example::Native.start(&of_command);
    let program = language.start(of_program.path(), &[]);
    for (method, target, body) in REQUESTS.iter().chain(MORE) {
        let replies = [&command, &program].map(|server| server.send(method, target, *body));
        assert_eq!(shown(&replies[1]), shown(&replies[0]), "{method} {target}");
    }
    // Views are counted behind the reply.
    for server in [&command, &program] {
        server.until(|| server.get("/products/1/views").body == r#"{"id":1,"views":3}"#);
    }

    // The framework answers its own route, an unknown path, and a method that a path does not have.
    let about = program.get("/about");
    let size = command.get("/health").json()["products"].clone();
    match language {
        Language::C => assert_eq!(about.json(), json!({"language": "C", "products": size})),
        Language::Python => assert_eq!(about.json(), json!({"language": "Python", "products": size})),
    }
    let version = program.get("/version").body;
    assert!(
        version.contains("libmicrohttpd") || version.contains("fastapi"),
        "{version}"
    );
    for (method, target) in [("GET", "/nothing"), ("OPTIONS", "/products"), ("PURGE", "/products")] {
        let reply = program.send(method, target, None);
        assert_eq!(reply.status, 404, "{method} {target}");
        assert!(reply.body.to_lowercase().contains("not found"), "{}", reply.body);
    }

    let other = folder();
    let taken = language
        .command(other.path())
        .args(["--listen", &program.address.to_string()])
        .status();
    let log = fs::read_to_string(other.path().join("errors.log")).expect("text");
    let error = format!("error: cannot listen on `{}`: ", program.address);
    assert_eq!(taken.expect("it runs").code(), Some(1), "{log}");
    assert!(log.contains(&error) && log.contains("ddress already in use"), "{log}");

    let end = end_with_a_request_in_flight(program);
    assert_eq!(end.code, Some(0), "{}", end.errors);
}

/// Ends a server by SIGINT while the body of a request arrives, and then completes the request.
fn end_with_a_request_in_flight(server: Server) -> End {
    let new = r#"{"sku": "TEA-LATE", "name": "Late", "price_cents": 550}"#;
    let (length, head) = (new.len(), "content-type: application/json\r\nexpect: 100-continue");
    let mut client = TcpStream::connect(server.address).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("set");
    let head = format!("POST /products HTTP/1.1\r\nhost: localhost\r\n{head}\r\ncontent-length: {length}\r\n\r\n");
    client.write_all(head.as_bytes()).expect("sent");
    let mut begun = [0; 25];
    client.read_exact(&mut begun).expect("it reads the body");
    assert!(begun.starts_with(b"HTTP/1.1 100 Continue"));

    server.signal("INT");
    server.until(|| TcpStream::connect(server.address).is_err());
    client.write_all(new.as_bytes()).expect("sent");
    let mut reply = String::new();
    client.read_to_string(&mut reply).expect("a reply, and the end");
    assert!(reply.starts_with("HTTP/1.1 201 "), "{reply}");
    assert!(
        reply.ends_with(r#""name":"Late","price_cents":550,"description":""}"#),
        "{reply}"
    );
    server.ends("SIGINT")
}

fn a_swap_while_it_serves_loses_no_request(language: Language) {
    const CLIENTS: usize = 4;
    let folder = folder();
    let component = folder.path().join("served.wasm");
    fs::copy(controllers(), &component).expect("copied");
    let next = Guest::with(Controller::new("Next", "").get("/products/:id", Program::text("the next version"))).build();
    let server = language.start(folder.path(), &["--component", component.to_str().expect("text")]);
    let before = server.get("/products/1").body;
    assert!(before.contains("TEA-ASSAM"), "{before}");

    let (answered, swapped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|clients| {
        for _ in 0..CLIENTS {
            clients.spawn(|| {
                // Twenty requests before the swap, and twenty behind it.
                let mut behind = 0;
                let answers = until_blocking("the next version answers twenty times", || {
                    let reply = server.get("/products/1");
                    assert_eq!(reply.status, 200, "{reply:?}");
                    answered.fetch_add(1, Ordering::Relaxed);
                    if reply.body == before {
                        assert_eq!(behind, 0, "the version before answered behind the next one");
                    } else {
                        assert_eq!(reply.body, "the next version");
                        behind += 1;
                        swapped.fetch_add(1, Ordering::Relaxed);
                    }
                    (behind == 20).then_some(())
                });
                answers.expect("a swap");
            });
        }
        server.until(|| answered.load(Ordering::Relaxed) >= 20 * CLIENTS);
        fs::write(&component, next).expect("written");
        server.signal("HUP");
    });
    assert_eq!(swapped.load(Ordering::Relaxed), 20 * CLIENTS);

    // A component that is none changes nothing.
    fs::write(&component, "no component").expect("written");
    server.signal("HUP");
    server.logged("error: not swapped: ");
    assert_eq!(server.get("/products/1").body, "the next version");
    fs::copy(controllers(), &component).expect("copied");
    server.signal("HUP");
    server.until(|| server.get("/products/1").body == before);

    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0), "{}", end.errors);
    let lines: Vec<_> = end.output.lines().filter(|line| line.starts_with("swapped ")).collect();
    let routes: Vec<_> = lines.iter().filter_map(|line| line.rsplit_once(", ")).collect();
    assert_eq!(
        routes.iter().map(|(_, routes)| *routes).collect::<Vec<_>>(),
        ["routes: 1", "routes: 10"]
    );
    assert!(lines[0].starts_with("swapped products: version "), "{lines:?}");
}

fn wrong_arguments_and_missing_tools_are_named(language: Language) {
    // A path with what the script itself needs.
    let tools = folder();
    let path = env::var_os("PATH").expect("it is set");
    for tool in ["bash", "cat", "dirname", "mkdir"] {
        let found = env::split_paths(&path).map(|place| place.join(tool));
        let found = found
            .into_iter()
            .find(|file| file.exists())
            .expect("every system has it");
        symlink(found, tools.path().join(tool)).expect("linked");
    }
    let install = match language {
        Language::C => "error: `gcc` is not there: install a C compiler (Debian: apt-get install gcc)",
        Language::Python => "error: there is no Python 3.11 or later with venv: install it (Debian: ",
    };
    let cases: &[(&[&str], &str)] = &[
        (
            &["--lisen", "127.0.0.1:0"],
            "error: unknown argument `--lisen`; usage: ",
        ),
        (&["--listen"], "error: `--listen` needs a value; usage: "),
        (
            &["--listen", "localhost"],
            "error: `--listen localhost`: expected an address and a port, such as 127.0.0.1:8080",
        ),
        (
            &["--component", "no/such.wasm"],
            "error: `--component no/such.wasm`: there is no such file",
        ),
        (&[], install),
    ];
    for (arguments, error) in cases {
        let output = Command::new(language.directory().join("run"))
            .args(*arguments)
            .env("CARGO_TARGET_DIR", target_dir())
            .env("PATH", tools.path())
            .env_remove("POINTWORK_PYTHON")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.starts_with(error), "{arguments:?}: {text}");
    }
}
