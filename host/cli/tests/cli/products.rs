//! The example of the repository, `examples/products`.

use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use crate::server::Server;
use crate::{folder, pointwork};

pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/products")
}

fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("products")
}

/// The example's component, built if need be.
pub(crate) fn component() -> PathBuf {
    let out = target_dir().join("pointwork");
    let built = pointwork(&example())
        .args(["build", "controllers", "--target-dir"])
        .arg(target_dir())
        .arg("--out")
        .arg(&out)
        .output()
        .expect("it runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    out.join("products.wasm")
}

/// A copy of the example's configuration, so that its database is made there. It lacks the component.
pub(crate) fn configured() -> TempDir {
    let folder = folder();
    let controllers = example().join("controllers").canonicalize().expect("it is there");
    let config = std::fs::read_to_string(example().join("pointwork.toml")).expect("text");
    let config = config.replace(
        "build = \"controllers\"",
        &format!("build = '{}'", controllers.display()),
    );
    std::fs::write(folder.path().join("pointwork.toml"), config).expect("written");
    std::fs::copy(example().join("schema.sql"), folder.path().join("schema.sql")).expect("copied");
    folder
}

/// The same with the component.
pub(crate) fn built() -> TempDir {
    let folder = configured();
    let place = folder.path().join("target/pointwork");
    std::fs::create_dir_all(&place).expect("created");
    std::fs::copy(component(), place.join("products.wasm")).expect("copied");
    folder
}

fn none() -> [&'static str; 0] {
    []
}

#[test]
fn missing_component_is_built_on_the_first_start() {
    let folder = configured();
    let server = Server::start_with(folder.path(), none(), |command| {
        command.env("CARGO_TARGET_DIR", target_dir());
    });
    assert_eq!(server.get("/health").json(), json!({"status": "up", "products": 5}));
    assert!(folder.path().join("products.sqlite").exists());
    assert!(folder.path().join("target/pointwork/products.wasm").exists());
}

#[test]
fn catalogue_is_listed_in_pages_shown_and_searched() {
    let folder = built();
    let server = Server::start(folder.path(), none());
    let page = server.get("/products?page=2&per_page=2").json();
    assert_eq!((&page["page"], &page["total"]), (&json!(2), &json!(5)));
    assert_eq!(page["products"][0]["sku"], "TEA-OOLONG");
    assert_eq!(server.get("/products?page=0").status, 400);

    let tea = server.get("/products/1");
    assert_eq!(
        (tea.status, tea.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(tea.json()["name"], "Assam");
    assert_eq!(
        server.get("/products/99").error(),
        (404, "no product has the id 99".to_owned())
    );
    assert_eq!(
        server.get("/products/x").error(),
        (
            400,
            "path parameter `id`: invalid digit found in string, got `x`".to_owned()
        )
    );

    let found = server.get("/products/search?q=GREEN").json();
    assert_eq!(
        (found.as_array().map(Vec::len), &found[0]["name"]),
        (Some(1), &json!("Sencha"))
    );
    assert_eq!(
        server.get("/products/search").error(),
        (400, "query: missing field `q`".to_owned())
    );
}

#[test]
fn products_are_created_changed_and_deleted() {
    let folder = built();
    let server = Server::start(folder.path(), none());
    let new = r#"{"sku": "TEA-MATE", "name": "Mate", "price_cents": 550}"#;
    let created = server.send("POST", "/products", Some(new));
    assert_eq!((created.status, created.header("location")), (201, Some("/products/6")));
    assert_eq!(server.get("/products/6").json(), created.json());

    let taken = server.send("POST", "/products", Some(new));
    assert_eq!(
        taken.error(),
        (409, "another product has the SKU `TEA-MATE`".to_owned())
    );
    let negative = server.send("PATCH", "/products/6", Some(r#"{"price_cents": -1}"#));
    assert_eq!(
        negative.error(),
        (422, "body: `price_cents`: expected 0 or more, got -1".to_owned())
    );
    let broken = server.send("POST", "/products", Some("{\n  \"sku\": 7}"));
    assert_eq!(
        broken.error(),
        (
            400,
            "body: `sku`: invalid type: integer `7`, expected a string at line 2 column 10".to_owned()
        )
    );

    let cheaper = server
        .send("PATCH", "/products/6", Some(r#"{"price_cents": 500}"#))
        .json();
    assert_eq!(
        (&cheaper["name"], &cheaper["price_cents"]),
        (&json!("Mate"), &json!(500))
    );
    let other = r#"{"sku": "TEA-MATE", "name": "Mate, roasted", "price_cents": 600, "description": "250 g"}"#;
    let other = server.send("PUT", "/products/6", Some(other)).json();
    assert_eq!(
        (&other["name"], &other["description"]),
        (&json!("Mate, roasted"), &json!("250 g"))
    );
    let to_another = server.send("PUT", "/products/99", Some(new));
    assert_eq!(to_another.status, 404);

    let gone = server.send("DELETE", "/products/6", None);
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(server.send("DELETE", "/products/6", None).status, 404);
    assert_eq!(server.send("PURGE", "/products/6", None).status, 405);
}

#[test]
fn response_channel_writes_the_label() {
    let folder = built();
    let server = Server::start(folder.path(), none());
    let label = server.get("/products/2/label");
    assert_eq!(
        (label.status, label.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert_eq!(label.body, "Sencha (TEA-SENCHA): 9.80\n");
    assert_eq!(server.get("/products/99/label").status, 404);
}

#[cfg(unix)]
#[test]
fn views_are_counted_before_the_server_ends_and_kept() {
    let folder = built();
    let server = Server::start(folder.path(), none());
    assert_eq!(server.get("/products/3/views").json(), json!({"id": 3, "views": 0}));
    for _ in 0..20 {
        assert_eq!(server.get("/products/3").status, 200);
    }
    // Nobody waited for the events of the last requests but the server's own end.
    assert_eq!(server.stop("TERM").code, Some(0));
    let server = Server::start(folder.path(), none());
    assert_eq!(server.get("/products/3/views").json(), json!({"id": 3, "views": 20}));
}

#[test]
fn tests_of_the_controllers_pass() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["test", "--quiet"])
        .current_dir(example().join("controllers"))
        .env("CARGO_TARGET_DIR", target_dir())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("14 passed"), "{text}");
}
