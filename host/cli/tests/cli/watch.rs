//! `pointwork serve --watch`.

use crate::server::Server;
use crate::versions::{configured, put, served, version, wait_for};
use crate::{folder, write};

#[test]
fn changed_file_is_swapped_and_back_again() {
    let folder = configured("");
    let server = Server::start(folder.path(), ["--watch"]);
    assert_eq!(served(&server), 1);
    put(folder.path(), 2);
    let line = server.logged("module swapped");
    assert!(line.contains("added=1") && line.contains("removed=1"), "{line}");
    assert_eq!(served(&server), 2);
    put(folder.path(), 1);
    wait_for(&server, 1);
}

#[test]
fn file_that_changes_to_the_version_that_serves_changes_nothing() {
    let folder = configured("watch = true\n[admin]\nsocket = \"admin.sock\"");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.admin("PUT", "/modules/shop", &version(2)).status, 200);
    let status = || server.admin("GET", "/modules/shop", b"").json();
    let before = status();
    put(folder.path(), 2);
    server.logged("module unchanged");
    assert_eq!(
        (&status()["previous"], &status()["since"]),
        (&before["previous"], &before["since"])
    );
    assert_eq!(served(&server), 2);
}

#[test]
fn half_written_file_is_left_alone_until_it_is_whole() {
    let folder = configured("watch = true");
    let server = Server::start(folder.path(), [""; 0]);
    let whole = version(2);
    let path = folder.path().join("shop.wasm");
    std::fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    server.logged("changed and is not a whole component");
    assert_eq!(served(&server), 1);
    std::fs::write(&path, whole).expect("written");
    wait_for(&server, 2);
}

#[test]
fn component_that_is_refused_changes_nothing_and_is_tried_again_when_it_changes() {
    let folder = configured("watch = true");
    let server = Server::start(folder.path(), [""; 0]);
    // A component without a world: it is whole and cannot be served.
    write(&folder, "shop.wasm", b"\0asm\r\0\x01\0");
    server.logged("a change of the module is refused");
    assert_eq!(served(&server), 1);
    put(folder.path(), 2);
    wait_for(&server, 2);
}

#[test]
fn lost_file_is_a_warning_and_the_module_serves_on() {
    let folder = configured("watch = true");
    let server = Server::start(folder.path(), [""; 0]);
    std::fs::remove_file(folder.path().join("shop.wasm")).expect("removed");
    let line = server.logged("cannot be read");
    assert!(line.contains("WARN") && line.contains("the module serves on"), "{line}");
    assert_eq!(served(&server), 1);
    put(folder.path(), 2);
    wait_for(&server, 2);
}

/// Its name has an end of a line, and a character that turns the direction of text.
#[test]
fn path_cannot_forge_a_line_of_the_log() {
    let name = "a\n2026-01-01T00:00:00Z ERROR forged\u{202e}.wasm";
    for (format, shown) in [
        ("text", "a\n    2026-01-01T00:00:00Z ERROR forged\\u{202e}.wasm"),
        ("json", "a\\n2026-01-01T00:00:00Z ERROR forged\\u202e.wasm"),
    ] {
        let folder = folder();
        write(&folder, name, version(1));
        let config = format!("watch = true\n[[module]]\nname = \"shop\"\npath = {name:?}\n");
        write(&folder, "pointwork.toml", config.replace("\\u{202e}", "\\u202e"));
        let server = Server::start(folder.path(), ["--log-format", format]);
        std::fs::remove_file(folder.path().join(name)).expect("it is there");
        server.logged("cannot be read");
        let log = server.log();
        assert!(log.contains(shown) && !log.contains('\u{202e}'), "{log}");
        assert!(!log.contains("\n2026-01-01"), "{log}");
    }
}
