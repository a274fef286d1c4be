//! The access log, which is off unless it is wanted.

use crate::server::Server;
use crate::versions::configured;

#[cfg(unix)]
#[test]
fn served_requests_print_nothing() {
    let folder = configured("");
    let server = Server::start(folder.path(), [""; 0]);
    let before = std::fs::read_to_string(folder.path().join("errors.log")).expect("text");
    for (target, status) in [("/version", 200), ("/nothing", 404), ("/only/%zz", 400)] {
        assert_eq!(server.get(target).status, status, "{target}");
    }
    assert_eq!(server.send("PURGE", "/version", None).status, 405);
    let end = server.stop("TERM");
    let since = end.errors.strip_prefix(&before).expect("a log only grows");
    let lines: Vec<_> = since.lines().collect();
    assert!(matches!(lines[..], [line] if line.contains("SIGTERM")), "{since}");
}

#[test]
fn access_log_has_one_line_for_each_request() {
    let in_file = configured("access-log = true");
    let by_flag = configured("");
    for (folder, arguments) in [
        (&in_file, &[][..]),
        (&by_flag, &["--access-log"]),
        // The filter of the other lines does not hide what was asked for.
        (&by_flag, &["--access-log", "--log-level", "error"]),
    ] {
        let server = Server::start(folder.path(), arguments);
        let reply = server.get("/only/1?secret=7");
        let id = reply.header("x-request-id").expect("each reply has one").to_owned();
        let line = server.logged(&id);
        for part in [
            "method=GET",
            "path=\"/only/1\"",
            "route=\"/only/1\"",
            "module=\"shop\"",
            "handler=\"only\"",
            "status=200",
            "micros=",
        ] {
            assert!(line.contains(part), "{arguments:?}: `{part}` is not in: {line}");
        }
        assert!(!line.contains("secret"), "the query may be private: {line}");
        let id = server
            .get("/nothing")
            .header("x-request-id")
            .expect("it has one")
            .to_owned();
        let line = server.logged(&id);
        assert!(
            line.contains("path=\"/nothing\"") && line.contains("status=404"),
            "{line}"
        );
        let log = std::fs::read_to_string(folder.path().join("errors.log")).expect("text");
        assert_eq!(log.matches("pointwork::access: ").count(), 2, "{log}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn functions_of_modules_are_listed_for_perf() {
    let folder = configured("");
    let server = Server::start(folder.path(), ["--perf-map"]);
    assert_eq!(server.get("/version").status, 200);
    let map = format!("/tmp/perf-{}.map", server.id());
    let listed = std::fs::read_to_string(&map).expect("the command wrote it");
    std::fs::remove_file(&map).expect("it is ours");
    let is_function = |line: &str| line.split(' ').count() >= 3 && line.contains("wasm");
    assert!(listed.lines().any(is_function), "{listed}");
}

#[test]
fn access_log_is_json_with_the_format() {
    let folder = configured("");
    let server = Server::start(folder.path(), ["--access-log", "--log-format", "json"]);
    let reply = server.get("/version");
    let line = server.logged(reply.header("x-request-id").expect("each reply has one"));
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (
            &line["target"],
            &line["status"],
            &line["span"]["route"],
            &line["span"]["method"]
        ),
        (
            &"pointwork::access".into(),
            &200.into(),
            &"/version".into(),
            &"GET".into()
        )
    );
}
