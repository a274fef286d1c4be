//! The header, and programs of C: `tests/programs/surface.c` uses every part of it, `bad_use.c` misuses it, `process.c` has signals,
//! threads and ends as programs have them, `plugin.c` loads the library by hand. They are compiled with gcc, and run as they are, with AddressSanitizer and under valgrind. With `POINTWORK_LONG=1` the many applications are 10,000, and the
//! faults take turns for a minute.
#![allow(clippy::print_stdout, reason = "it shows the figures of the long form")]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use pointwork_suite::fixtures::hosts::is_wanted;
use pointwork_suite::fixtures::make::make_once;
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};
use pointwork_suite::languages::compiler_of_programs;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_header_is_that_of_the_functions() {
    let mut config = cbindgen::Config::from_file(here().join("cbindgen.toml")).expect("a configuration");
    config.after_includes = Some(version());
    let bindings = cbindgen::generate_with_config(here(), config).expect("a header");
    let mut header = Vec::new();
    bindings.write(&mut header);
    let file = here().join("include/pointwork.h");
    if env::var_os("POINTWORK_WRITE_HEADER").is_some() {
        fs::write(&file, &header).expect("written");
    }
    let kept = fs::read(&file).unwrap_or_default();
    assert!(
        kept == header,
        "include/pointwork.h is stale: POINTWORK_WRITE_HEADER=1 cargo test -p pointwork-c"
    );
}

/// The version as constants of the header.
fn version() -> String {
    let part = |name: &str, value: &str| format!("#define PW_VERSION{name} {value}\n");
    let parts = [
        part("_MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        part("_MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        part("_PATCH", env!("CARGO_PKG_VERSION_PATCH")),
        part("", concat!('"', env!("CARGO_PKG_VERSION"), '"')),
    ];
    format!(
        "\n/**\n * The version of this header. pw_version is that of the library.\n */\n{}",
        parts.concat()
    )
}

/// The folder with the library, the components and the programs.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
    fs::create_dir_all(folder.join("cache")).expect("created");
    // cargo builds the library beside this program.
    let program = env::current_exe().expect("a path");
    let library = program.parent().expect("a folder").join("libpointwork_c.so");
    make_once(&folder.join("large.wasm"), &[&program, &library], || {
        fill(&folder, &library)
    });
    folder
});

/// Writes the components into the folder, and links the library there.
fn fill(folder: &Path, library: &Path) {
    for name in ["libpointwork.so", "libpointwork.so.1"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(library, link).expect("linked");
    }
    let shop = |greeting: &str| {
        Guest::with(
            Controller::new("Shop", "")
                .get("/plain", Program::text(greeting))
                .get("/ask", Program::text("said").call("db:ask"))
                .get("/hand", Program::text("given").hands_over("db:take"))
                .post("/echo", Program::new().step(Step::Echo).ends(End::Deferred))
                .takes("stream")
                .get("/trap", Program::new().ends(End::Trap))
                .get("/overflow", Program::new().ends(End::Overflow)),
        )
    };
    let large = Program::text("a line of a large page, which no socket keeps as a whole\n").step(Step::Double(18));
    let pages = Controller::new("Pages", "").get("/large", large.clone());
    let pages = pages.get(
        "/stream",
        large.step(Step::StreamText(200)).step(Step::Finish).ends(End::Deferred),
    );
    fs::write(folder.join("large.wasm"), Guest::with(pages).build()).expect("written");
    fs::write(folder.join("one.wasm"), shop("one").build()).expect("written");
    fs::write(folder.join("two.wasm"), shop("two").build()).expect("written");
}

/// Runs a tool; its absence is an error that says what to install.
fn run(mut command: Command, package: &str) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{name} does not start ({error}): install the package `{package}`"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

/// Compiles a program, and returns its path.
fn compile(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = BUILT.join(name);
    let (source, include) = (here().join("tests/programs").join(source), here().join("include"));
    let folders =
        ["include", "examples", "tests/programs"].map(|folder| fs::read_dir(here().join(folder)).expect(folder));
    let files = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut headers: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "h"))
        .collect();
    headers.sort();
    let inputs: Vec<_> = headers.iter().chain([&source]).map(PathBuf::as_path).collect();
    make_once(&program, &inputs, || {
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-g", "-o"])
            .args([&program, &source])
            .arg("-I")
            .arg(&include)
            .arg("-L")
            .arg(&*BUILT)
            .arg("-lpointwork")
            .arg(format!("-Wl,-rpath,{}", BUILT.display()))
            .args(flags);
        run(gcc, "gcc");
    });
    program
}

fn start(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("COMPONENTS", &*BUILT)
        .env("XDG_CACHE_HOME", BUILT.join("cache"))
        .envs([compiler_of_programs()])
        .env_remove("RUST_BACKTRACE");
    command
}

#[test]
fn the_whole_surface_works() {
    if !is_wanted("c") {
        return;
    }
    let program = compile("surface.c", "surface", &[]);
    assert!(run(start(program), "").contains("the surface works"));
}

/// A guest's memory is guarded by faults, which are the library's to handle.
const ASAN: &str = "detect_leaks=1:handle_segv=0:handle_sigill=0:handle_sigfpe=0:detect_stack_use_after_return=0";

#[test]
fn the_whole_surface_is_clean_under_the_address_sanitizer() {
    if !is_wanted("c") {
        return;
    }
    let program = compile("surface.c", "surface-asan", &["-fsanitize=address"]);
    let mut command = start(program);
    command.env("ASAN_OPTIONS", ASAN);
    assert!(run(command, "").contains("the surface works"));
}

#[test]
fn bad_uses_are_clean_under_the_address_sanitizer() {
    if !is_wanted("c") {
        return;
    }
    let program = compile("bad_use.c", "bad_use-asan", &["-fsanitize=address"]);
    // Not the end without a close, which leaves to the system what is in flight, and not the many applications, which take long.
    for way in [
        "null_arguments",
        "results_of_what_failed",
        "wrong_values",
        "bytes_that_are_no_component",
        "an_answer_that_never_comes",
        "a_second_answer",
        "an_answer_after_the_close",
        "a_callback_that_asks_again",
        "a_callback_that_closes",
        "calls_after_the_close",
        "a_close_with_requests_in_flight",
        "two_applications",
    ] {
        let mut command = start(&program);
        command.arg(way).env("ASAN_OPTIONS", ASAN);
        assert!(run(command, "").contains("survived"), "{way}");
    }
    let program = compile("process.c", "process-asan", &["-fsanitize=address"]);
    for way in [
        "destructors_that_use_the_application",
        "a_listener_that_calls_itself",
        "a_source_of_the_server_at_a_close",
        "a_source_of_the_program_at_a_close",
        "too_many_headers",
        "times_that_are_over",
    ] {
        let mut command = start(&program);
        command.arg(way).env("ASAN_OPTIONS", ASAN);
        assert!(run(command, "").contains("survived"), "{way}");
    }
}

#[test]
fn a_program_is_clean_under_valgrind() {
    if !is_wanted("c") {
        return;
    }
    let program = compile("surface.c", "surface-valgrind", &[]);
    let mut command = start("valgrind");
    command.args([
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        "-q",
    ]);
    command.arg(format!(
        "--suppressions={}",
        here().join("tests/programs/valgrind.supp").display()
    ));
    // Valgrind's processor has fewer features, so that code for it comes from a compiler on it.
    let (variable, compiler) = compiler_of_programs();
    let on_valgrind = r#"["valgrind", "--tool=none", "--quiet", "--trace-children=yes", "#;
    command.env(variable, compiler.replacen('[', on_valgrind, 1));
    command.arg(program).arg("short");
    assert!(run(command, "valgrind").contains("the surface works"));
}

#[test]
fn an_installation_is_found_by_pkg_config_and_by_cmake() {
    if !is_wanted("c") {
        return;
    }
    let target = tempfile::tempdir().expect("a folder");
    let root = target.path().join("root");
    let libraries = target.path().join("release");
    fs::create_dir(&libraries).expect("created");
    symlink(BUILT.join("libpointwork.so"), libraries.join("libpointwork_c.so")).expect("linked");
    // The static library is not built by the tests: it stands in for it, and nothing is linked to it.
    fs::write(libraries.join("libpointwork_c.a"), "!<arch>\n").expect("written");
    let mut make = Command::new("make");
    make.args([
        "-o",
        "all",
        "install",
        "PREFIX=/usr",
        "LIBDIR=/usr/lib/x86_64-linux-gnu",
        "STATIC=1",
    ]);
    make.arg(format!("TARGET={}", target.path().display()))
        .arg(format!("DESTDIR={}", root.display()))
        .current_dir(here());
    run(make, "make");

    let lib = root.join("usr/lib/x86_64-linux-gnu");
    let mut found = Command::new("pkg-config");
    found
        .args(["--cflags", "--libs", "pointwork"])
        .env("PKG_CONFIG_LIBDIR", lib.join("pkgconfig"))
        .env("PKG_CONFIG_SYSROOT_DIR", &root);
    let flags = run(found, "pkg-config");
    let mut gcc = Command::new("gcc");
    gcc.arg(here().join("examples/hello.c")).args(flags.split_whitespace());
    gcc.arg("-o").arg(target.path().join("hello"));
    run(gcc, "gcc");

    let project = "cmake_minimum_required(VERSION 3.13)\nproject(hello C)\nfind_package(pointwork 0.2 REQUIRED)\n";
    let source = here().join("examples/hello.c");
    let program = "target_link_libraries(hello pointwork::pointwork)";
    let project = format!("{project}add_executable(hello {})\n{program}\n", source.display());
    fs::write(target.path().join("CMakeLists.txt"), project).expect("written");
    let mut cmake = Command::new("cmake");
    cmake
        .args(["-S", ".", "-B", "built"])
        .arg(format!("-DCMAKE_PREFIX_PATH={}", root.join("usr").display()))
        .arg("-DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu")
        .current_dir(target.path());
    run(cmake, "cmake");
    let mut cmake = Command::new("cmake");
    cmake.args(["--build", "built"]).current_dir(target.path());
    run(cmake, "cmake");
    let hello = Example::start(target.path().join("built/hello"));
    assert!(hello.ask("GET", "/plain", "").ends_with("one"));
    hello.end();
}

/// An example that serves, and ends with its input.
struct Example {
    child: Child,
    address: String,
}

impl Example {
    fn start(program: PathBuf) -> Self {
        Self::serve(program, "one", &[])
    }

    fn serve(program: PathBuf, component: &str, further: &[&str]) -> Self {
        let mut command = start(program);
        command
            .arg(BUILT.join(component).with_extension("wasm"))
            .args(further)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("it is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it prints");
        let address = line
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    /// The reply to a request, as it came.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut client = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        client.write_all(format!("{head}{body}").as_bytes()).expect("written");
        let mut reply = String::new();
        client.read_to_string(&mut reply).expect("text");
        reply
    }

    /// The replies to the same request, one behind the other on one connection. Each ends in that text.
    fn ask_again(&self, path: &str, end: &str) -> Vec<String> {
        let mut client = TcpStream::connect(&self.address).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let mut reply = || {
            client.write_all(request.as_bytes()).expect("written");
            let (mut reply, mut chunk) = (String::new(), [0; 4096]);
            while !reply.ends_with(end) {
                let size = client.read(&mut chunk).expect("read");
                assert!(size > 0, "the server closed the connection behind: {reply}");
                reply.push_str(str::from_utf8(&chunk[..size]).expect("text"));
            }
            reply
        };
        (0..3).map(|_| reply()).collect()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it is ours").success());
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // After `end` it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of a reply in chunks.
fn unchunked(reply: &str) -> String {
    let (_, mut rest) = reply.split_once("\r\n\r\n").expect("a head");
    let mut body = String::new();
    loop {
        let (size, chunk) = rest.split_once("\r\n").expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a number");
        if size == 0 {
            return body;
        }
        body.push_str(&chunk[..size]);
        rest = chunk[size..].strip_prefix("\r\n").expect("the end of a chunk");
    }
}

fn example(name: &str, flags: &[&str]) -> Example {
    Example::start(compile(&format!("../../examples/{name}.c"), name, flags))
}

#[test]
fn the_example_of_the_readme_serves() {
    if !is_wanted("c") {
        return;
    }
    let hello = example("hello", &[]);
    let reply = hello.ask("GET", "/plain", "");
    assert!(
        reply.starts_with("HTTP/1.1 200 OK") && reply.ends_with("one"),
        "{reply}"
    );
    assert!(hello.ask("GET", "/none", "").contains("no route for GET /none"));
    hello.end();
}

#[test]
fn an_application_is_mounted_in_libmicrohttpd_in_front_of_its_routes() {
    if !is_wanted("c") {
        return;
    }
    let header = Path::new("/usr/include/microhttpd.h");
    assert!(
        header.exists() || env::var_os("CPATH").is_some(),
        "there is no libmicrohttpd: install the package `libmicrohttpd-dev`"
    );
    let server = example("microhttpd", &["-lmicrohttpd"]);
    let reply = server.ask("GET", "/plain", "").to_lowercase();
    assert!(
        reply.starts_with("http/1.1 200 ok") && reply.contains("content-length: 3") && reply.ends_with("one"),
        "{reply}"
    );
    for reply in server.ask_again("/plain", "one") {
        assert!(reply.starts_with("HTTP/1.1 200 OK"), "{reply}");
    }
    let sent = "chunk;".repeat(10_000);
    assert!(unchunked(&server.ask("POST", "/echo", &sent)) == sent);
    assert!(server.ask("GET", "/own", "").ends_with("the server's own\n"));
    assert!(
        server.ask("POST", "/plain", "").ends_with("not found\n"),
        "a route for another method is not in front"
    );
    assert!(server.ask("GET", "/trap", "").starts_with("HTTP/1.1 500"));
    server.end();
    let server = Example::serve(BUILT.join("microhttpd"), "one", &["0", "secret"]);
    for path in ["/plain", "/own"] {
        let reply = server.ask("GET", path, "");
        assert!(reply.starts_with("HTTP/1.1 403"), "{reply}");
        let reply = server.ask("GET", &format!("{path} HTTP/1.1\r\nx-token: secret\r\nx-rest:"), "");
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
    server.end();
}

#[test]
fn clients_that_leave_in_the_middle_of_a_reply_do_not_end_the_example() {
    if !is_wanted("c") {
        return;
    }
    let hello = compile("../../examples/hello.c", "hello-left", &[]);
    let hello = Example::serve(hello, "large", &[]);
    for number in 0..30 {
        let path = ["/large", "/stream"][number % 2];
        let mut client = TcpStream::connect(&hello.address).expect("it listens");
        write!(client, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("written");
        client.read_exact(&mut [0; 1000]).expect("a reply begins");
        // Behind the end of a client's side, its reset is EPIPE to who writes, with the signal SIGPIPE.
        if number % 4 > 1 {
            client.shutdown(Shutdown::Write).expect("it is open");
        }
    }
    for path in ["/large", "/stream"] {
        let reply = hello.ask("GET", path, "");
        assert!(reply.starts_with("HTTP/1.1 200 OK") && reply.len() > 14 << 20);
    }
    hello.end();
}

#[test]
fn a_library_that_is_let_go_of_with_its_threads_stays_in_memory() {
    if !is_wanted("c") {
        return;
    }
    let program = BUILT.join("plugin");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program);
    gcc.arg(here().join("tests/programs/plugin.c")).arg("-ldl");
    run(gcc, "gcc");
    let mut command = start(program);
    command.arg(BUILT.join("libpointwork.so.1"));
    assert!(run(command, "").contains("survived"));
}

/// Runs a program in the way that has that name.
macro_rules! ways {
    ($program:ident: $($name:ident),+ $(,)?) => {$(
        #[test]
        fn $name() {
            if !is_wanted("c") {
                return;
            }
            let mut command = start($program.as_path());
            command.arg(stringify!($name));
            if stringify!($name).ends_with("the_limit_of_file_sizes") {
                // The compiler of the tests writes files, and has the limits of the program.
                command.env_remove(compiler_of_programs().0);
            }
            let text = run(command, "");
            assert!(text.contains("survived"), "{text}");
            let closes = ["a_close_in_atexit", "a_close_in_a_destructor"].contains(&stringify!($name));
            assert!(text.contains("closed") == closes, "{text}");
            println!("{text}");
        }
    )+};
}

static BAD_USE: LazyLock<PathBuf> = LazyLock::new(|| compile("bad_use.c", "bad_use", &[]));

static PROCESS: LazyLock<PathBuf> = LazyLock::new(|| compile("process.c", "process", &[]));

ways! {
    PROCESS:
    signals_that_are_waited_for,
    destructors_that_use_the_application,
    a_listener_that_calls_itself,
    a_route_that_asks_itself,
    a_route_that_asks_itself_on_another_thread,
    a_close_in_atexit,
    a_close_in_a_destructor,
    a_close_that_leaves_no_thread,
    a_close_in_the_log,
    a_request_in_the_destructor_of_a_thread,
    a_request_in_atexit,
    a_request_that_was_taken_before_the_close,
    requests_of_an_application_that_is_freed,
    a_cache_over_the_limit_of_file_sizes,
    a_module_over_the_limit_of_file_sizes,
    empty_chunks_without_end,
    a_source_of_the_server_at_a_close,
    a_source_of_the_program_at_a_close,
    too_many_headers,
    starts_within_limits,
    a_server_while_all_callbacks_wait,
    numbers_of_threads,
    times_that_are_over,
}

ways! {
    BAD_USE:
    null_arguments,
    results_of_what_failed,
    wrong_values,
    bytes_that_are_no_component,
    an_answer_that_never_comes,
    a_second_answer,
    an_answer_after_the_close,
    a_callback_that_asks_again,
    a_callback_that_closes,
    calls_after_the_close,
    a_close_with_requests_in_flight,
    an_end_without_a_close,
    two_applications,
    many_applications,
    a_fork_after_the_start,
    a_thread_with_a_small_stack,
    a_signal_in_a_callback,
    guests_that_trap_in_turn_with_the_program,
}
