//! The example of the repository, `examples/products`, in both of its configurations.

use serde_json::json;

use crate::example::Example::{self, Components, Native};
use crate::example::{directory, run_unit_tests, target_dir};
use crate::server::Server;

/// Each of these behaviours, in both configurations.
macro_rules! in_both_configurations {
    ($($behaviour:ident),+ $(,)?) => {
        mod native {
            $(#[test] fn $behaviour() { crate::products::$behaviour(crate::example::Example::Native) })+
        }
        mod components {
            $(#[test] fn $behaviour() { crate::products::$behaviour(crate::example::Example::Components) })+
        }
    };
}

in_both_configurations!(
    missing_components_are_built_on_the_first_start,
    catalogue_is_listed_in_pages_shown_and_searched,
    products_are_created_changed_and_deleted,
    response_channel_writes_the_label,
);

#[cfg(unix)]
mod ends {
    in_both_configurations!(
        views_are_counted_before_the_server_ends_and_kept,
        killed_server_keeps_acknowledged_changes
    );
}

fn missing_components_are_built_on_the_first_start(example: Example) {
    let folder = example.configured();
    let server = Server::start_with(folder.path(), ["--config", example.file()], |command| {
        command.env("CARGO_TARGET_DIR", target_dir());
    });
    assert_eq!(server.get("/health").json(), json!({"status": "up", "products": 5}));
    let database = match example {
        Native => "products.sqlite",
        _ => "data/catalogue.redb",
    };
    assert!(folder.path().join(database).exists());
    for (_, component) in example.components() {
        assert!(folder.path().join("target/pointwork").join(component).exists());
    }
}

fn catalogue_is_listed_in_pages_shown_and_searched(example: Example) {
    let folder = example.built();
    let server = example.start(&folder);
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

fn products_are_created_changed_and_deleted(example: Example) {
    let folder = example.built();
    let server = example.start(&folder);
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

fn response_channel_writes_the_label(example: Example) {
    let folder = example.built();
    let server = example.start(&folder);
    let label = server.get("/products/2/label");
    assert_eq!(
        (label.status, label.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert_eq!(label.body, "Sencha (TEA-SENCHA): 9.80\n");
    assert_eq!(server.get("/products/99/label").status, 404);
}

#[cfg(unix)]
fn views_are_counted_before_the_server_ends_and_kept(example: Example) {
    let folder = example.built();
    let server = example.start(&folder);
    assert_eq!(server.get("/products/3/views").json(), json!({"id": 3, "views": 0}));
    for _ in 0..20 {
        assert_eq!(server.get("/products/3").status, 200);
    }
    // Only the end of the server waited for the events of the last requests.
    assert_eq!(server.stop("TERM").code, Some(0));
    let server = example.start(&folder);
    assert_eq!(server.get("/products/3/views").json(), json!({"id": 3, "views": 20}));
}

#[cfg(unix)]
fn killed_server_keeps_acknowledged_changes(example: Example) {
    let folder = example.built();
    let server = example.start(&folder);
    let new = r#"{"sku": "TEA-MATE", "name": "Mate", "price_cents": 550}"#;
    let created = server.send("POST", "/products", Some(new));
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(server.send("DELETE", "/products/2", None).status, 204);
    // It cannot clean up.
    assert_eq!(server.stop("KILL").code, None);
    let server = example.start(&folder);
    assert_eq!(server.get("/products/6").json(), created.json());
    assert_eq!(server.get("/products/2").status, 404);
    let another = r#"{"sku": "TEA-ROOIBOS", "name": "Rooibos", "price_cents": 400}"#;
    assert_eq!(
        server.send("POST", "/products", Some(another)).header("location"),
        Some("/products/7")
    );
}

/// Requests in their order: each sees the changes of those before it.
pub(crate) const REQUESTS: &[(&str, &str, Option<&str>)] = &[
    ("GET", "/health", None),
    ("GET", "/products", None),
    ("GET", "/products?page=3&per_page=2", None),
    ("GET", "/products?per_page=1000", None),
    ("GET", "/products/1", None),
    ("GET", "/products/0", None),
    ("GET", "/products/-1", None),
    ("GET", "/products/search?q=tea", None),
    ("GET", "/products/search?q=ASSAM", None),
    ("GET", "/products/search?q=%25", None),
    ("GET", "/products/1/label", None),
    ("GET", "/products/5/views", None),
    ("GET", "/products/99/views", None),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "A", "name": "Grün", "price_cents": 1, "description": "ü"}"#),
    ),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "A", "name": "Rot", "price_cents": 1}"#),
    ),
    ("POST", "/products", Some(r#"{"sku": "TEA-ASSAM", "name": 7}"#)),
    ("GET", "/products/search?q=gr%C3%BCn", None),
    ("PATCH", "/products/6", Some(r#"{"name": "Blau"}"#)),
    ("PATCH", "/products/6", Some(r#"{"sku": "TEA-ASSAM"}"#)),
    (
        "PUT",
        "/products/6",
        Some(r#"{"sku": "B", "name": "Gelb", "price_cents": 2}"#),
    ),
    ("GET", "/products/6", None),
    ("DELETE", "/products/6", None),
    ("DELETE", "/products/6", None),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "A", "name": "Rot", "price_cents": 1}"#),
    ),
    ("GET", "/products", None),
];

#[test]
fn both_configurations_give_the_same_answers() {
    give_the_same_answers(&[Native, Components], REQUESTS);
}

/// Compares status, content type, place and body of each reply with that of the first configuration.
pub(crate) fn give_the_same_answers(examples: &[Example], requests: &[(&str, &str, Option<&str>)]) {
    let start = |example: &Example| {
        let folder = example.built();
        (example.start(&folder), folder)
    };
    let servers: Vec<_> = examples.iter().map(start).collect();
    for (method, target, body) in requests {
        let answer = |server: &Server| {
            let reply = server.send(method, target, *body);
            let headers = ["content-type", "location"].map(|name| reply.header(name).map(str::to_owned));
            (reply.status, headers, reply.body)
        };
        let first = answer(&servers[0].0);
        for (example, (server, _)) in examples.iter().zip(&servers).skip(1) {
            assert_eq!(answer(server), first, "{method} {target} {body:?} in {example:?}");
        }
    }
}

#[test]
fn tests_of_the_packages_pass() {
    for package in ["controllers", "store"] {
        run_unit_tests(&directory().join(package));
    }
}
