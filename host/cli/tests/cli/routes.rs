//! `pointwork routes`.

use pointwork_suite::guest::{Controller, Guest, Program};
use serde_json::{Value, json};
use snapbox::str;

use crate::example::{self, Example};
use crate::{folder, pointwork, refused, run, stderr, write};

#[test]
fn table_lists_every_route_in_order() {
    run(&folder(), "routes")
        .arg(example::controllers())
        .assert()
        .success()
        .stdout_eq(str![[r#"
METHOD  PATH                 MODULE    HANDLER
GET     /products            products  Products.list
GET     /products/search     products  Products.search
GET     /products/:id        products  Products.show
GET     /products/:id/views  products  Products.views
GET     /products/:id/label  products  Products.label
POST    /products            products  Products.create
PUT     /products/:id        products  Products.replace
PATCH   /products/:id        products  Products.update
DELETE  /products/:id        products  Products.delete
GET     /health              products  Health.show

MODULE    EVENTS USED
products  db:product:all, db:product:count, db:product:create, db:product:delete, db:product:one, db:product:search, db:product:update, db:product:views, product:viewed, response:send

"#]]);
}

#[test]
fn json_is_an_array_of_records() {
    let folder = Example::Native.built();
    let output = run(&folder, "routes --json").output().expect("it runs");
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
fn table_is_the_same_with_and_without_a_server_but_for_marks_of_what_it_cannot_serve() {
    let folder = folder();
    let cache = Controller::new("Cache", "cache")
        .route("show", Some("GET"), &[":key"], Program::text("shown"))
        .route("purge", Some("PURGE"), &[":key"], Program::text("purged"));
    write(&folder, "cache.wasm", Guest::with(cache).build());
    let warning = "[..]WARN[..]PURGE /cache/:key[..]trillium[..]\n";
    for (arguments, mark, warning) in [
        ("routes cache.wasm", "", ""),
        ("routes cache.wasm --adapter axum", "", ""),
        (
            "routes cache.wasm --adapter trillium",
            " (not available on trillium)",
            warning,
        ),
    ] {
        let table = format!(
            "\
METHOD  PATH         MODULE  HANDLER
GET     /cache/:key  cache   Cache.show
PURGE   /cache/:key  cache   Cache.purge{mark}
"
        );
        pointwork(&folder)
            .args(arguments.split(' '))
            .assert()
            .success()
            .stdout_eq(table)
            .stderr_eq(warning);
    }
}

#[test]
fn missing_component_is_named() {
    let error = "error: the component of module `shop` does not exist: `shop.wasm`[..]\n...\n";
    refused(run(&folder(), "routes shop.wasm"), 1).stderr_eq(error);
    // A file of the configuration.
    let folder = folder();
    write(&folder, "pointwork.toml", "[[module]]\npath = \"shop.wasm\"\n");
    for command in ["routes", "serve"] {
        refused(run(&folder, command), 3).stderr_eq(error);
    }
}

#[test]
fn missing_component_is_built_from_its_package() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("controllers")).expect("created");
    let config = "[[module]]\npath = \"shop.wasm\"\nbuild = \"controllers\"\n";
    write(&folder, "pointwork.toml", config);
    let text = stderr(run(&folder, "routes"), 3);
    assert!(
        text.starts_with("note: building module `shop` from controllers\n"),
        "{text}"
    );
    assert!(text.contains("error: `controllers` is not a project"), "{text}");
    std::fs::remove_dir(folder.path().join("controllers")).expect("removed");
    for command in ["routes", "serve", "dev"] {
        let text = stderr(run(&folder, command), 3);
        assert!(text.contains("error: cannot find `controllers`"), "{command}: {text}");
    }
}
