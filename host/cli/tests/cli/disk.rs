//! The state directory on a disk that is full, read-only or damaged.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use pointwork_suite::guest::{Controller, Guest, Program};
use pointwork_suite::languages::compiler_of_programs;
use serde_json::json;

use crate::server::{Reply, Server, within};
use crate::versions::{configured, served, version};
use crate::write;

const KEPT: &str = "watch = true\n[admin]\nsocket = \"admin.sock\"\n[state]\ndirectory = \"state\"";

/// More than a version's component and its memory image, which counts as a file, and less than a [`large`] component.
const SMALL: &str = "786432";

/// A version that is larger than the limit.
fn large(number: u64) -> Vec<u8> {
    let mut component = version(number);
    // A custom section: its size in LEB128, the length of its name, its name, and zeros.
    let content = 1 << 19;
    component.extend([
        0,
        0x80 | (content & 0x7f) as u8,
        0x80 | (content >> 7 & 0x7f) as u8,
        (content >> 14) as u8,
    ]);
    component.push(4);
    component.extend(b"fill");
    component.resize(component.len() + content - 5, 0);
    component
}

/// Limits the size of the files that the server writes, as a disk does that has no more room.
pub(crate) fn limit(server: &Server, bytes: &str) {
    let limited = Command::new("prlimit")
        .args(["--pid", &server.id().to_string(), &format!("--fsize={bytes}:unlimited")])
        .status();
    assert!(limited.expect("util-linux has `prlimit`").success());
}

/// A server whose writing fails as on a full disk once it is limited: no signal ends it.
pub(crate) fn start(folder: &Path) -> Server {
    Server::start_with(folder, [""; 0], |command| {
        // The compiler of the tests writes files, and has the limits of the server.
        command.env_remove(compiler_of_programs().0);
        let shell = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""];
        *command = within(folder, command, &shell);
    })
}

fn upload(server: &Server, component: &[u8]) -> Reply {
    server.admin("PUT", "/modules/shop", component)
}

/// Checks that a change is refused with an error that names a file below the state directory.
fn assert_refused(reply: &Reply, file: &str, reason: &str) {
    assert_eq!(reply.status, 500, "{reply:?}");
    let causes = reply.json()["causes"].to_string();
    let message = reply.error().1 + causes.as_str();
    assert!(
        message.contains(file) && message.contains("cannot be written"),
        "{message}"
    );
    assert!(message.contains(reason), "{message}");
}

fn component(folder: &Path, component: &[u8]) -> PathBuf {
    folder.join("state/components").join(pointwork::digest(component))
}

fn ready(server: &Server) -> (u16, serde_json::Value) {
    let reply = server.admin("GET", "/ready", b"");
    (reply.status, reply.json())
}

/// Checks that a version serves in the place of a lost one, whose own route answers 503.
fn assert_serves_for(server: &Server, serves: u64, lost: u64) {
    assert_eq!(server.get("/version").body, serves.to_string());
    for (number, status) in [(serves, 200), (lost, 503), (lost + 1, 404)] {
        assert_eq!(server.get(&format!("/only/{number}")).status, status, "{number}");
    }
}

fn temporary_files(folder: &Path) -> Vec<PathBuf> {
    let folders = ["state", "state/components", "state/cache"].map(|name| folder.join(name));
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("it is there"));
    let paths = entries.map(|entry| entry.expect("it is there").path());
    paths.filter(|path| path.to_string_lossy().contains(".tmp-")).collect()
}

#[test]
fn full_disk_refuses_each_change_and_the_published_version_goes_on() {
    let folder = configured(KEPT);
    let server = start(folder.path());
    assert_eq!(upload(&server, &version(2)).status, 200);
    limit(&server, SMALL);
    assert_refused(&upload(&server, &large(3)), "state/components/", "File too large");
    write_component(folder.path(), &large(4));
    let line = server.logged("a change of the module is refused");
    assert!(line.contains("state/components/"), "{line}");
    assert_eq!(served(&server), 2);
    limit(&server, "0");
    let rolled_back = server.admin("POST", "/modules/shop/rollback", b"");
    assert_refused(&rolled_back, "state/state.json", "File too large");
    assert_refused(
        &server.admin("DELETE", "/modules/shop", b""),
        "state/state.json",
        "File too large",
    );
    assert_eq!(served(&server), 2);
    assert_eq!(ready(&server).0, 200);
    assert_eq!(temporary_files(folder.path()), [] as [PathBuf; 0]);
    limit(&server, "unlimited");
    assert_eq!(upload(&server, &large(3)).status, 200);
    assert_eq!(served(&server), 3);
}

/// Replaces the file of the configuration, as a build does.
fn write_component(folder: &Path, component: &[u8]) {
    fs::write(folder.join("shop.wasm.new"), component).expect("written");
    fs::rename(folder.join("shop.wasm.new"), folder.join("shop.wasm")).expect("renamed");
}

/// Allows or forbids writing below a folder.
fn set_writable(folder: &Path, writable: bool) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            set_writable(&path, writable);
        }
    }
    let mode = if writable { 0o700 } else { 0o500 };
    fs::set_permissions(folder, Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn read_only_state_directory_serves_what_it_has_and_refuses_changes() {
    let folder = configured(KEPT);
    let start = || {
        Server::start_with(folder.path(), [""; 0], |command| {
            let root = fs::metadata("/proc/self").expect("Linux has it").uid() == 0;
            if root {
                // Otherwise permissions do not hold for it.
                let setpriv = ["setpriv", "--bounding-set", "-dac_override"];
                *command = within(folder.path(), command, &setpriv);
            }
        })
    };
    let server = start();
    assert_eq!(upload(&server, &version(2)).status, 200);
    server.stop("TERM");
    let state = folder.path().join("state");
    set_writable(&state, false);
    let server = start();
    assert_eq!(served(&server), 2);
    assert_eq!(ready(&server).0, 200);
    assert_refused(&upload(&server, &version(3)), "state/components/", "Permission denied");
    let rolled_back = server.admin("POST", "/modules/shop/rollback", b"");
    assert_refused(&rolled_back, "state/state.json", "Permission denied");
    assert_eq!(served(&server), 2);
    drop(server);
    set_writable(&state, true);
    let server = start();
    assert_eq!(upload(&server, &version(3)).status, 200);
    assert_eq!(served(&server), 3);
}

#[test]
fn damaged_version_is_not_ready_and_the_one_before_serves_in_its_place() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    for number in [2, 3] {
        assert_eq!(upload(&server, &version(number)).status, 200);
    }
    server.stop("KILL");
    let file = component(folder.path(), &version(3));
    fs::write(&file, "damaged").expect("written");

    let server = Server::start(folder.path(), [""; 0]);
    // The previous one, not that of the configuration.
    assert_serves_for(&server, 2, 3);
    let (status, report) = ready(&server);
    assert_eq!((status, &report["ready"]), (503, &json!(false)));
    let restore_failures = &report["restore-failures"][0];
    assert_eq!(
        (
            &restore_failures["module"],
            &restore_failures["digest"],
            &restore_failures["serves"]
        ),
        (
            &json!("shop"),
            &json!(pointwork::digest(&version(3))),
            &json!(pointwork::digest(&version(2)))
        )
    );
    let reason = restore_failures["reason"].as_str().expect("text");
    let name = format!("state/components/{}` is damaged", pointwork::digest(&version(3)));
    assert!(reason.contains(&name), "{reason}");
    let line = server.logged("its previous version serves in its place");
    assert!(line.contains(&pointwork::digest(&version(2))), "{line}");
    server.stop("TERM");

    // The record is as it was: the file may come back.
    fs::write(&file, version(3)).expect("written");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!((served(&server), ready(&server).0), (3, 200));
    server.stop("TERM");

    for number in [2, 3] {
        fs::write(component(folder.path(), &version(number)), "damaged").expect("written");
    }
    let server = Server::start(folder.path(), [""; 0]);
    // That of the configuration is left.
    assert_serves_for(&server, 1, 3);
    assert_eq!(ready(&server).0, 503);
    assert_eq!(upload(&server, &version(4)).status, 200);
    assert_eq!(ready(&server).0, 200, "it serves what was swapped in last");
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!((served(&server), ready(&server).0), (4, 200));
}

#[test]
fn previous_version_is_accepted_by_a_roll_back_to_it() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    for number in [2, 3] {
        assert_eq!(upload(&server, &version(number)).status, 200);
    }
    server.stop("KILL");
    fs::remove_file(component(folder.path(), &version(3))).expect("it is there");
    let server = Server::start(folder.path(), [""; 0]);
    assert_serves_for(&server, 2, 3);
    assert_eq!(ready(&server).0, 503);
    assert_eq!(server.admin("POST", "/modules/shop/rollback", b"").status, 200);
    assert_eq!((served(&server), ready(&server).0), (2, 200));
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!((served(&server), ready(&server).0), (2, 200));
}

#[test]
fn no_other_module_answers_for_one_that_is_lost() {
    let folder = configured("");
    let everything = Controller::new("All", "").route("all", None, &["*rest"], Program::text("everything"));
    fs::write(folder.path().join("all.wasm"), Guest::with(everything).build()).expect("written");
    let config = format!("{KEPT}\n[[module]]\npath = \"all.wasm\"\n");
    write(&folder, "pointwork.toml", config);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(upload(&server, &version(7)).status, 201);
    assert_eq!(server.get("/version").body, "7");
    server.stop("KILL");
    fs::write(component(folder.path(), &version(7)), "damaged").expect("written");

    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.get("/version").status, 503);
    assert_eq!(server.get("/only/7").status, 503);
    assert_eq!(server.get("/other").body, "everything");
    let (status, report) = ready(&server);
    assert_eq!((status, &report["restore-failures"][0]["serves"]), (503, &json!(null)));
    server.logged("the uploaded module does not serve");
    assert_eq!(server.admin("DELETE", "/modules/shop", b"").status, 200);
    assert_eq!(
        (server.get("/version").body.as_str(), ready(&server).0),
        ("everything", 200)
    );
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(
        (server.get("/version").body.as_str(), ready(&server).0),
        ("everything", 200)
    );
}

#[test]
fn routes_of_a_lost_version_are_not_answered_beside_the_one_in_its_place() {
    let folder = configured("");
    let everything = Controller::new("All", "").route("all", None, &["*rest"], Program::text("everything"));
    fs::write(folder.path().join("all.wasm"), Guest::with(everything).build()).expect("written");
    let all = "[[module]]\npath = \"all.wasm\"\n";
    let config = format!("prefix = \"/api\"\n{KEPT}\n{all}[[module]]\npath = \"shop.wasm\"\n");
    write(&folder, "pointwork.toml", &config);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(upload(&server, &version(2)).status, 200);
    server.stop("KILL");
    fs::write(component(folder.path(), &version(2)), "damaged").expect("written");

    let answers = |server: &Server| {
        ["version", "only/1", "only/2", "other"].map(|path| {
            let reply = server.get(&format!("/api/{path}"));
            (
                reply.status,
                if reply.status == 200 { reply.body } else { String::new() },
            )
        })
    };
    let answer = |status, body: &str| (status, body.to_owned());
    let server = Server::start(folder.path(), [""; 0]);
    let expected = [
        answer(200, "1"),
        answer(200, "1"),
        answer(503, ""),
        answer(200, "everything"),
    ];
    assert_eq!(answers(&server), expected);
    assert_eq!(ready(&server).0, 503);
    // Another module comes and goes.
    let extra = Guest::with(Controller::new("Extra", "").route("x", Some("GET"), &["x"], Program::text("x")));
    assert_eq!(server.admin("PUT", "/modules/extra", &extra.build()).status, 201);
    assert_eq!(answers(&server), expected);
    // The version that serves is accepted, and the lost one is no longer meant to serve.
    assert_eq!(upload(&server, &version(1)).status, 200);
    let expected = [
        answer(200, "1"),
        answer(200, "1"),
        answer(200, "everything"),
        answer(200, "everything"),
    ];
    assert_eq!((answers(&server), ready(&server).0), (expected, 200));
}

#[test]
fn lost_module_is_back_once_it_is_uploaded_again() {
    let folder = configured("");
    write(&folder, "pointwork.toml", KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(upload(&server, &version(7)).status, 201);
    server.stop("KILL");
    fs::remove_file(component(folder.path(), &version(7))).expect("it is there");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!((server.get("/version").status, ready(&server).0), (503, 503));
    assert_eq!(upload(&server, &version(7)).status, 201);
    assert_eq!((served(&server), ready(&server).0), (7, 200));
}

#[test]
fn missing_previous_version_does_not_drop_the_current_one() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(upload(&server, &version(2)).status, 200);
    server.stop("KILL");
    fs::remove_file(component(folder.path(), &version(1))).expect("it is there");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!((served(&server), ready(&server).0), (2, 200));
    server.logged("the module cannot be rolled back: the component of its previous version");
    assert_eq!(server.admin("POST", "/modules/shop/rollback", b"").status, 409);
}

#[test]
fn files_that_a_kill_left_are_removed_at_the_start() {
    let folder = configured(KEPT);
    Server::start(folder.path(), [""; 0]).stop("KILL");
    for place in ["state/.tmp-a", "state/components/.tmp-b", "state/cache/.tmp-c"] {
        write(&folder, place, "torn");
    }
    assert_eq!(temporary_files(folder.path()).len(), 3);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(temporary_files(folder.path()), [] as [PathBuf; 0]);
    assert_eq!(served(&server), 1);
}
