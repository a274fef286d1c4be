//! `pointwork serve`.

use std::fs::File;
use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::{Duration, SystemTime};

use pointwork_suite::guest::{Channel, Discovery, Guest, Program, laden};
use pointwork_suite::languages::compiler_of_programs;
#[cfg(target_os = "linux")]
use pointwork_test_clock::real::until_blocking;
use snapbox::str;
use tempfile::TempDir;

use crate::example::{self, Example};
use crate::server::Server;
#[cfg(target_os = "linux")]
use crate::server::within;
#[cfg(target_os = "linux")]
use crate::versions::{configured, served, version};
use crate::{Says, folder, refused, run, stderr, write};

#[test]
fn every_adapter_serves_the_example() {
    let folder = Example::Native.built();
    for adapter in ["axum", "trillium", "actix", "salvo", "hyper"] {
        let server = Server::start(folder.path(), ["--adapter", adapter]);
        assert!(
            server.banner.starts_with(&format!("pointwork 0.2.0 on {adapter}\n")),
            "{}",
            server.banner
        );
        assert_eq!(server.get("/products/1").status, 200, "{adapter}");
        assert_eq!(server.get("/products/none").status, 400, "{adapter}");
        assert_eq!(server.get("/nothing").status, 404, "{adapter}");
        let end = server.stop("TERM");
        assert_eq!(end.code, Some(0), "{adapter}: {}", end.errors);
    }
}

/// The tests themselves may run under `nohup`, which every process below inherits.
#[cfg(target_os = "linux")]
const NO_SIGNAL_IGNORED: &[&str] = &["env", "--default-signal"];

#[cfg(target_os = "linux")]
#[test]
fn signals_end_it_with_success() {
    for signal in ["TERM", "INT", "HUP"] {
        let folder = Example::Native.built();
        let server = Server::start_with(folder.path(), [""; 0], |command| {
            *command = within(folder.path(), command, NO_SIGNAL_IGNORED);
        });
        let end = server.stop(signal);
        assert_eq!(end.code, Some(0), "{signal}: {}", end.errors);
        assert_eq!(end.output, "", "the address is the last line");
        assert!(
            end.errors.contains(&format!("SIG{signal}: requests in flight")),
            "{}",
            end.errors
        );
    }
}

/// The processes that work in the folder.
#[cfg(target_os = "linux")]
fn processes(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().expect("it exists");
    let processes = std::fs::read_dir("/proc").expect("Linux has it").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

/// The processor time of a process, in hundredths of a second.
#[cfg(target_os = "linux")]
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields = stat.rsplit(") ").next().expect("fields behind the name").split(' ');
    let times = fields
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().expect("a time"));
    times.sum()
}

/// Waits until no process works in the folder: a compiler ends a moment after its server.
#[cfg(target_os = "linux")]
fn until_no_process_is_left(folder: &Path) {
    let ended = until_blocking("every process has ended", || processes(folder).is_empty().then_some(()));
    ended.unwrap_or_else(|error| panic!("{error}: {:?}", processes(folder)));
}

/// Sends a signal while the server compiles, and checks its end.
#[cfg(target_os = "linux")]
fn ends_while_it_compiles(signal: &str, outer: &[&str]) {
    let folder = folder();
    // The compiler needs a while for it.
    let large = laden(&version(1), 1_500, 800);
    write(&folder, "large.wasm", large);
    let config = "cache.enabled = false\n[[module]]\npath = \"large.wasm\"\n";
    write(&folder, "pointwork.toml", config);
    let server = Server::start_without_banner(folder.path(), |command| {
        command.env_remove(compiler_of_programs().0);
        *command = within(folder.path(), command, outer);
    });
    let argument = |id: u32, at: usize| {
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.split('\0').nth(at).unwrap_or_default().to_owned()
    };
    let find = |first: &str, second: &str| {
        let mut found = processes(folder.path()).into_iter();
        found.find(|id| argument(*id, 0).ends_with(first) && argument(*id, 1) == second)
    };
    server.until(|| find("", "compile-worker").is_some());
    // Not the command around it.
    let own = find("pointwork", "serve").expect("it runs");
    let sent = std::process::Command::new("kill")
        .args(["-s", signal, &own.to_string()])
        .status();
    assert!(sent.expect("POSIX has it").success());
    let end = server.ends(signal);
    assert_eq!(end.code, Some(0), "{}", end.errors);
    assert_eq!(end.output, "", "it never listened");
    assert!(end.errors.contains(&format!("SIG{signal}: ")), "{}", end.errors);
    until_no_process_is_left(folder.path());
}

#[cfg(target_os = "linux")]
#[test]
fn signals_end_it_with_success_while_it_compiles() {
    for signal in ["TERM", "INT", "HUP"] {
        ends_while_it_compiles(signal, NO_SIGNAL_IGNORED);
    }
}

/// The first process of a container has no default reaction to a signal.
#[cfg(target_os = "linux")]
#[test]
fn first_process_of_a_container_ends_while_it_compiles() {
    ends_while_it_compiles(
        "TERM",
        &[
            "unshare",
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn signal_ends_it_while_a_module_is_probed() {
    let folder = folder();
    let looping = Guest::new().discovery(Discovery::Loops).build();
    write(&folder, "loops.wasm", looping);
    let config = "[limits]\nprobe = \"10m\"\n[[module]]\npath = \"loops.wasm\"\n";
    write(&folder, "pointwork.toml", config);
    let server = Server::start_without_banner(folder.path(), |command| {
        command.args(["--log-level", "debug"]);
    });
    // The server compiles the module in a moment. A second of processor time belongs to the loop.
    server.until(|| ticks(server.id()) >= 100);
    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0), "{}", end.errors);
}

#[cfg(target_os = "linux")]
#[test]
fn signal_ends_the_build_of_a_command() {
    let folder = folder();
    let cargo = folder.path().join("cargo");
    let real = env!("CARGO");
    let script = format!("#!/bin/sh\n[ \"$1\" = build ] || exec {real} \"$@\"\necho begun > begun\nexec sleep 600\n");
    std::fs::write(&cargo, script).expect("written");
    std::fs::set_permissions(&cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let config = "[[module]]\npath = \"shop.wasm\"\nbuild = \".\"\n";
    write(&folder, "pointwork.toml", config);
    let manifest = "[package]\nname = \"shop\"\n\n[workspace]\n\n[lib]\ncrate-type = [\"cdylib\"]\n";
    write(&folder, "Cargo.toml", manifest);
    write(&folder, "src/lib.rs", "");
    for (arguments, code) in [
        (&["serve", "--listen", "127.0.0.1:0"][..], 0),
        (&["dev", "--listen", "127.0.0.1:0"], 0),
        (&["build"], 1),
        (&["routes"], 1),
    ] {
        let subcommand = arguments[0];
        let server = Server::start_without_banner(folder.path(), |command| {
            *command = crate::server::plain_command(folder.path(), arguments);
            command.env("CARGO", &cargo);
        });
        server.until(|| folder.path().join("begun").exists());
        std::fs::remove_file(folder.path().join("begun")).expect("it is there");
        let end = server.stop("TERM");
        assert_eq!(end.code, Some(code), "{subcommand}: {}", end.errors);
        until_no_process_is_left(folder.path());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn hangup_is_ignored_under_nohup() {
    let folder = configured("");
    let server = Server::start_with(folder.path(), [""; 0], |command| {
        let shell = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
        *command = within(folder.path(), command, &shell);
    });
    let sent = std::process::Command::new("kill")
        .args(["-s", "HUP", &server.id().to_string()])
        .status();
    assert!(sent.expect("POSIX has it").success());
    assert_eq!(served(&server), 1);
    let end = server.stop("TERM");
    assert!(end.errors.contains("SIGTERM: requests in flight"), "{}", end.errors);
}

#[test]
fn log_is_json_with_the_option() {
    let folder = Example::Native.built();
    let server = Server::start(folder.path(), ["--log-format", "json"]);
    let log = std::fs::read_to_string(folder.path().join("errors.log")).expect("text");
    let line: serde_json::Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&line["message"], &line["module"]),
        (&"module loaded".into(), &"products".into())
    );
    drop(server);
}

#[test]
fn component_on_the_command_line_is_served_without_channels() {
    let component = example::controllers();
    let server = Server::start(folder().path(), [component]);
    assert!(!server.banner.contains("CHANNEL"), "{}", server.banner);
    // Its events have no listener, which is an error of the server without details for the client.
    assert_eq!(
        server.get("/products/1").error(),
        (500, "the server could not answer the request".to_owned())
    );
    assert_eq!(server.get("/health").status, 503);
}

/// The example with a change of its configuration.
fn changed(change: impl FnOnce(String) -> String) -> TempDir {
    let folder = Example::Native.built();
    let config = std::fs::read_to_string(folder.path().join("pointwork.toml")).expect("text");
    write(&folder, "pointwork.toml", change(config));
    folder
}

#[test]
fn trailing_slash_matches_where_the_configuration_says_so() {
    for (line, status) in [("", 404), ("trailing-slash = \"match\"\n", 200)] {
        let folder = changed(|config| format!("{line}{config}"));
        let server = Server::start(folder.path(), [""; 0]);
        assert_eq!(server.get("/products/1/").status, status, "{line}");
    }
}

#[test]
fn limits_of_the_configuration_hold() {
    let folder = changed(|config| config + "\n[limits]\nbody = 32\n");
    let server = Server::start(folder.path(), [""; 0]);
    let body = format!("{{\"sku\": \"{}\"}}", "x".repeat(32));
    assert_eq!(server.send("POST", "/products", Some(&body)).status, 413);
}

#[test]
fn limit_of_a_module_holds_for_it_alone() {
    let folder = folder();
    for (name, channel) in [("one.wasm", "one"), ("two.wasm", "two")] {
        let module = Guest::new().channel(Channel::new(channel).on("heard", Program::new()));
        write(&folder, name, module.build());
    }
    let config = "[[module]]\npath = \"one.wasm\"\n[[module]]\npath = \"two.wasm\"\n";
    write(&folder, "pointwork.toml", config);
    drop(Server::start(folder.path(), [""; 0]));
    write(&folder, "pointwork.toml", format!("{config}memory = \"1KiB\"\n"));
    stderr(run(&folder, "serve"), 5).says(["error: module `two` from `two.wasm` is refused", "memory"]);
}

#[test]
fn payload_over_the_limit_reaches_no_listener() {
    let folder = changed(|config| config + "\n[limits]\npayload = 16\n");
    let server = Server::start(folder.path(), [""; 0]);
    let new = r#"{"sku": "TEA-MATE", "name": "Mate", "price_cents": 550}"#;
    assert_eq!(server.send("POST", "/products", Some(new)).status, 413);
}

#[test]
fn address_in_use_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let component = example::controllers();
    let text = stderr(run(&folder(), "serve --listen").arg(&address).arg(component), 6);
    text.says([&format!("error: cannot listen on `{address}`\n  caused by: ")]);
    let hint = "hint: another program listens on it; `--listen 127.0.0.1:0` takes a free port\n";
    assert!(text.ends_with(hint), "{text}");
    // Before a build, which would fail.
    let folder = folder();
    write(
        &folder,
        "pointwork.toml",
        "[[module]]\npath = \"shop.wasm\"\nbuild = \"nowhere\"\n",
    );
    let text = stderr(run(&folder, "serve --listen").arg(&address), 6);
    text.says([&format!("error: cannot listen on `{address}`\n  caused by: ")]);
}

#[test]
fn component_that_is_older_than_its_source_is_warned_of() {
    let folder = folder();
    let component = Guest::new()
        .channel(Channel::new("one").on("heard", Program::new()))
        .build();
    write(&folder, "shop.wasm", component);
    write(&folder, "shop/Cargo.toml", "");
    write(&folder, "shop/src/lib.rs", "");
    write(&folder, "shared/src/lib.rs", "");
    let list = format!("shop.wasm: {}\n", folder.path().join("shared/src/lib.rs").display());
    write(&folder, "shop.d", list);
    write(
        &folder,
        "pointwork.toml",
        "[[module]]\npath = \"shop.wasm\"\nbuild = \"shop\"\n",
    );
    let warning = "the component of module `shop`, shop.wasm, is older than its source";
    let mut later = SystemTime::now();
    for (path, is_warned) in [
        ("shop.wasm", false),
        ("shop/src/lib.rs", true),
        ("shop.wasm", false),
        ("shared/src/lib.rs", true),
    ] {
        let file = File::options().append(true).open(folder.path().join(path));
        later += Duration::from_secs(60);
        file.and_then(|file| file.set_modified(later)).expect("its time is set");
        let server = Server::start(folder.path(), [""; 0]);
        assert_eq!(server.log().contains(warning), is_warned, "{}", server.log());
    }
}

#[test]
fn unknown_key_in_the_configuration_suggests_the_near_one() {
    let folder = folder();
    write(&folder, "pointwork.toml", "listn = \"127.0.0.1:0\"\n");
    refused(run(&folder, "serve"), 3).stderr_eq(str![[r#"
error: unknown key `listn` in pointwork.toml:1:1
hint: did you mean `listen`?

"#]]);
}

#[test]
fn unknown_adapter_suggests_the_near_one() {
    let folder = folder();
    stderr(run(&folder, "serve --adapter hypr a.wasm"), 2).says(["invalid value 'hypr'", "'hyper'"]);
    write(&folder, "pointwork.toml", "adapter = \"hypr\"\n");
    stderr(run(&folder, "serve"), 3).says(["`hypr` in pointwork.toml:1:11", "did you mean `hyper`?"]);
}

#[test]
fn invalid_prefix_is_refused_with_its_place() {
    let folder = folder();
    stderr(run(&folder, "serve --prefix /a//b a.wasm"), 2).says(["`/a//b` is not a prefix"]);
    write(&folder, "pointwork.toml", "prefix = \"/a//b\"\n");
    stderr(run(&folder, "serve"), 3).says(["`/a//b` is not a prefix", "pointwork.toml:1:10"]);
}

#[test]
fn invalid_component_is_refused() {
    let folder = folder();
    write(&folder, "shop.wasm", "no component");
    refused(run(&folder, "serve shop.wasm"), 5).stderr_eq(str![[r#"
error: module `shop` from `shop.wasm` is refused
  caused by: not a WebAssembly component: it begins with `no component`, expected `/0asm`

"#]]);
}

#[cfg(target_os = "linux")]
#[test]
fn compile_worker_that_aborts_is_one_line() {
    let folder = configured("[compile]\nmemory = \"16MiB\"\n[cache]\nenabled = false");
    let text = stderr(
        run(&folder, "serve --listen 127.0.0.1:0")
            .env_remove(compiler_of_programs().0)
            .env("RUST_BACKTRACE", "full"),
        5,
    );
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("error: module `shop`"), "{text}");
    assert!(text.contains("  caused by: the compile worker "), "{text}");
    for line in &lines[1..] {
        let is_own = line.starts_with("  caused by: ") || line.starts_with("hint: ");
        assert!(is_own, "{line}\n{text}");
    }
}

#[test]
fn routes_in_conflict_are_refused_with_both_owners() {
    let folder = folder();
    for name in ["one.wasm", "two.wasm"] {
        std::fs::copy(example::controllers(), folder.path().join(name)).expect("copied");
    }
    stderr(run(&folder, "serve one.wasm two.wasm"), 5).says([
        "error: module `two` from `two.wasm` is refused\n",
        "module `one`",
        "module `two`",
    ]);
}

#[test]
fn wrong_statement_is_refused_before_anything_is_served() {
    let folder = changed(|config| config.replace("DELETE FROM products", "DELETE FROM product"));
    stderr(run(&folder, "serve"), 3).says([
        "event `product:delete` of channel `db` in pointwork.toml:",
        "no such table: product",
    ]);
}
