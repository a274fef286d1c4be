//! Versions of one module with different replies.

use std::path::Path;

use pointwork_suite::guest::{Controller, Guest, Program};
use tempfile::TempDir;

use crate::server::Server;
use crate::{folder, write};

/// A component that answers `GET /version` with the number, and has a route `/only/{number}` that no other version has.
pub(crate) fn version(number: u64) -> Vec<u8> {
    let answer = || Program::text(&number.to_string());
    let shop = Controller::new("Shop", "")
        .route("version", Some("GET"), &["version"], answer())
        .route("only", Some("GET"), &[&format!("only/{number}")], answer());
    Guest::with(shop).build()
}

/// A component with that many routes.
#[cfg(target_os = "linux")]
pub(crate) fn with_routes(count: usize) -> Vec<u8> {
    let routes = 0..count;
    let many = routes.fold(Controller::new("Many", ""), |many, number| {
        many.route(
            "many",
            Some("GET"),
            &[&format!("many/routes/{number}")],
            Program::text("one of many"),
        )
    });
    Guest::with(many).build()
}

/// A component that conflicts with every version: it has their route.
pub(crate) fn rival() -> Vec<u8> {
    let answer = Program::text("rival");
    Guest::with(Controller::new("Rival", "").route("version", Some("GET"), &["version"], answer)).build()
}

/// A folder with version 1 as `shop.wasm`, and a configuration with further lines that loads it.
pub(crate) fn configured(more: &str) -> TempDir {
    let folder = folder();
    put(folder.path(), 1);
    let config = format!("{more}\n[[module]]\npath = \"shop.wasm\"\n");
    write(&folder, "pointwork.toml", config);
    folder
}

/// Replaces `shop.wasm` by a version with a rename, as cargo does.
pub(crate) fn put(folder: &Path, number: u64) {
    let new = folder.join("shop.wasm.new");
    std::fs::write(&new, version(number)).expect("written");
    std::fs::rename(new, folder.join("shop.wasm")).expect("renamed");
}

/// The version that serves. Its own route must exist, and those of the versions around it must not.
pub(crate) fn served(server: &Server) -> u64 {
    let reply = server.get("/version");
    assert_eq!(reply.status, 200, "{reply:?}");
    let number: u64 = reply.body.parse().expect("a number");
    for other in number.saturating_sub(1)..=number + 1 {
        let expected = if other == number { 200 } else { 404 };
        assert_eq!(
            server.get(&format!("/only/{other}")).status,
            expected,
            "{other} beside {number}"
        );
    }
    number
}

/// Waits until that version serves.
pub(crate) fn wait_for(server: &Server, number: u64) {
    server.until(|| server.get("/version").body == number.to_string());
    assert_eq!(served(server), number);
}
