//! `pointwork serve --state`: the versions after a restart, however the server ended.

use crate::server::Server;
use crate::versions::{configured, put, served, version};
use crate::{Says, run, stderr, write};

const KEPT: &str = "[admin]\nsocket = \"admin.sock\"\n[state]\ndirectory = \"state\"";

#[test]
fn uploaded_version_serves_after_a_kill() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(served(&server), 1);
    assert_eq!(server.admin("PUT", "/modules/shop", &version(2)).status, 200);
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(served(&server), 2);
    // The previous version is still known.
    assert_eq!(server.admin("POST", "/modules/shop/rollback", b"").status, 200);
    server.stop("KILL");
    assert_eq!(served(&Server::start(folder.path(), [""; 0])), 1);
}

#[test]
fn module_that_only_was_uploaded_comes_back() {
    let folder = configured(KEPT);
    write(&folder, "pointwork.toml", KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.admin("PUT", "/modules/extra%20shop", &version(7)).status, 201);
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(served(&server), 7);
    assert_eq!(server.admin("GET", "/modules/extra%20shop", b"").status, 200);
}

#[test]
fn removed_module_stays_away() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.admin("DELETE", "/modules/shop", b"").status, 200);
    server.stop("KILL");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.get("/version").status, 404);
    server.logged("the module was removed, and is not loaded");
    drop(server);
    put(folder.path(), 3);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(served(&server), 3, "a file that is newer is meant to be served");
}

#[test]
fn changed_file_of_the_configuration_wins() {
    let folder = configured(KEPT);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.admin("PUT", "/modules/shop", &version(2)).status, 200);
    drop(server);
    put(folder.path(), 3);
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(served(&server), 3);
    drop(server);
    assert_eq!(served(&Server::start(folder.path(), [""; 0])), 3);
}

#[test]
fn module_that_the_configuration_lost_is_not_served_any_more() {
    let folder = configured(KEPT);
    drop(Server::start(folder.path(), [""; 0]));
    write(&folder, "pointwork.toml", KEPT);
    assert_eq!(Server::start(folder.path(), [""; 0]).get("/version").status, 404);
}

#[test]
fn second_server_on_a_state_directory_is_refused() {
    let folder = configured("");
    let _server = Server::start(folder.path(), ["--state", "state"]);
    // A server that started would not end by itself.
    let second = run(&folder, "serve --listen 127.0.0.1:0 --state state").timeout(std::time::Duration::from_secs(60));
    let text = stderr(second, 1);
    assert!(text.starts_with("error: ") && text.contains("state"), "{text}");
}

#[test]
fn without_a_state_directory_the_file_serves() {
    let folder = configured("[admin]\nsocket = \"admin.sock\"");
    let server = Server::start(folder.path(), [""; 0]);
    assert_eq!(server.admin("PUT", "/modules/shop", &version(2)).status, 200);
    drop(server);
    assert_eq!(served(&Server::start(folder.path(), [""; 0])), 1);
}

#[test]
fn compiled_components_are_kept_where_the_configuration_says() {
    let folder = configured("[cache]\ndirectory = \"compiled\"");
    assert_eq!(served(&Server::start(folder.path(), [""; 0])), 1);
    let entries = || {
        std::fs::read_dir(folder.path().join("compiled"))
            .expect("it is there")
            .count()
    };
    let kept = entries();
    assert!(kept > 1, "a key and an entry");
    assert_eq!(served(&Server::start(folder.path(), [""; 0])), 1);
    assert_eq!(entries(), kept, "the second start compiled nothing new");
}

#[test]
fn directory_that_another_user_may_write_is_refused() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = configured("");
    drop(Server::start(folder.path(), ["--state", "state"]));
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(folder.path().join(path), std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let refused = |message: &str| {
        let start = run(&folder, "serve --listen 127.0.0.1:0 --state state");
        stderr(start.timeout(std::time::Duration::from_secs(20)), 1).says([message]);
    };
    let component = format!("state/components/{}", pointwork::digest(&version(1)));
    for (path, before, open, expected) in [
        ("state", 0o700, 0o775, "0755"),
        ("state", 0o700, 0o757, "0755"),
        ("state/components", 0o700, 0o770, "0750"),
        ("state/state.json", 0o600, 0o666, "0644"),
        (&*component, 0o600, 0o620, "0600"),
    ] {
        mode(path, open);
        refused(&format!(
            "`{path}` is open to others: its mode is {open:04o}, expected {expected}"
        ));
        mode(path, before);
    }
    if std::fs::metadata(folder.path()).expect("it is there").uid() == 0 {
        for path in ["state", "state/components", "state/state.json", &component] {
            std::os::unix::fs::chown(folder.path().join(path), Some(65_534), None).expect("we are root");
            refused(&format!(
                "`{path}` belongs to user 65534, expected user 0, who runs this"
            ));
            std::os::unix::fs::chown(folder.path().join(path), Some(0), None).expect("we are root");
        }
    }
    assert_eq!(served(&Server::start(folder.path(), ["--state", "state"])), 1);
}
