//! `pointwork routes`.

use pointwork_suite::guest::{Controller, Guest, Program};
use serde_json::{Value, json};
use snapbox::str;

use crate::example::{self, Example};
use crate::{folder, pointwork, stderr, write};

#[test]
fn table_lists_every_route_in_order() {
    pointwork(folder().path())
        .arg("routes")
        .arg(example::controllers())
        .assert()
        .success()
        .stdout_eq(str![[r#"
METHOD  PATH                 ORIGIN     MODULE    HANDLER
GET     /products            decorator  products  Products.list
GET     /products/search     decorator  products  Products.search
GET     /products/:id        decorator  products  Products.show
GET     /products/:id/views  decorator  products  Products.views
GET     /products/:id/label  decorator  products  Products.label
POST    /products            decorator  products  Products.create
PUT     /products/:id        decorator  products  Products.replace
PATCH   /products/:id        decorator  products  Products.update
DELETE  /products/:id        decorator  products  Products.delete
GET     /health              decorator  products  Health.show

MODULE    EVENTS USED
products  db:product:all, db:product:count, db:product:create, db:product:delete, db:product:one, db:product:search, db:product:update, db:product:views, product:viewed, response:send

"#]]);
}

#[test]
fn json_is_an_array_of_records() {
    let folder = Example::Native.built();
    let output = pointwork(folder.path())
        .args(["routes", "--json"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    assert_eq!(records.len(), 10);
    assert_eq!(
        records[2],
        json!({
            "method": "GET", "path": "/products/:id", "origin": "decorator",
            "module": "products", "controller": "Products", "handler": "show",
        })
    );
    assert!(
        !folder.path().join("products.sqlite").exists(),
        "a look changes nothing"
    );
}

#[test]
fn routes_that_an_adapter_cannot_serve_are_marked() {
    let folder = folder();
    let cache = Controller::new("Cache", "cache")
        .route("show", Some("GET"), &[":key"], Program::text("shown"))
        .route("purge", Some("PURGE"), &[":key"], Program::text("purged"));
    std::fs::write(folder.path().join("cache.wasm"), Guest::with(cache).build()).expect("written");
    pointwork(folder.path())
        .args(["routes", "--adapter", "trillium", "cache.wasm"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
METHOD  PATH         ORIGIN  MODULE  HANDLER
GET     /cache/:key  replay  cache   Cache.show
PURGE   /cache/:key  replay  cache   Cache.purge (not available on trillium)

"#]])
        .stderr_eq(str![[r#"
[..]WARN[..]PURGE /cache/:key[..]trillium[..]

"#]]);
    pointwork(folder.path())
        .args(["routes", "--adapter", "axum", "cache.wasm"])
        .assert()
        .success()
        .stdout_eq(str![[r#"
METHOD  PATH         ORIGIN  MODULE  HANDLER
GET     /cache/:key  replay  cache   Cache.show
PURGE   /cache/:key  replay  cache   Cache.purge

"#]])
        .stderr_eq("");
}

#[test]
fn missing_component_is_named() {
    let text = stderr(pointwork(folder().path()).args(["routes", "shop.wasm"]), 1);
    assert!(
        text.starts_with("error: the component of module `shop` does not exist: `shop.wasm`"),
        "{text}"
    );
}

#[test]
fn missing_component_is_built_from_its_package() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("controllers")).expect("created");
    let config = "[[module]]\npath = \"shop.wasm\"\nbuild = \"controllers\"\n";
    write(folder.path(), "pointwork.toml", config);
    let text = stderr(pointwork(folder.path()).arg("routes"), 1);
    assert!(
        text.starts_with("note: building module `shop` from controllers\n"),
        "{text}"
    );
    assert!(text.contains("error: `controllers` is not a cargo package"), "{text}");
}
