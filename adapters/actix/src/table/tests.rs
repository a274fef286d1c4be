use std::sync::Arc;

use pointwork_core::routing::{self, MethodFilter, Owner, Pattern, TableOptions};

use super::*;

fn of(text: &str) -> Option<String> {
    pattern(Pattern::parse(text).unwrap().segments())
}

#[test]
fn parameters_are_named_by_position() {
    assert_eq!(of("/").as_deref(), Some("/"));
    assert_eq!(of("/a/:id/b/:other").as_deref(), Some("/a/{p1}/b/{p2}"));
    assert_eq!(of("/files/*rest").as_deref(), Some("/files/{p1:.+}"));
    assert_eq!(of("/caf%C3%A9").as_deref(), Some("/café"));
}

#[test]
fn what_the_syntax_of_actix_cannot_say_is_left_to_the_core() {
    for text in ["/a%7Bb%7D", "/a%2A", "/a%2Fb"] {
        assert_eq!(of(text), None, "{text}");
    }
    let many = (0..17).map(|number| format!("/:p{number}")).collect::<String>();
    assert_eq!(of(&many), None);
}

#[test]
fn every_pattern_that_is_said_is_one_for_actix() {
    for text in [
        "/",
        "/a.b",
        "/a(b",
        "/[x]",
        "/a+b$^|\\",
        "/:a/x-/:y",
        "/*all",
        "/ünï/:x",
    ] {
        let pattern = of(text).unwrap();
        assert!(ResourceDef::new(pattern.as_str()).pattern().is_some(), "{text}");
    }
}

fn table(paths: &[(&str, &str)]) -> routing::Table<()> {
    let entries = paths.iter().map(|(method, path)| routing::Entry {
        filter: MethodFilter::parse(Some(method)).unwrap(),
        pattern: Pattern::parse(path).unwrap(),
        owner: Owner::Manual,
        target: (),
    });
    routing::Table::compile(entries.collect(), TableOptions::default()).unwrap()
}

#[test]
fn a_resource_is_built_once_for_tables_that_follow_each_other() {
    let resources = Resources::default();
    let resource = |entries: &[Option<Entry>], path: &str| {
        let mut found = entries.iter().flatten().map(|entry| &entry.resource);
        found.find(|resource| resource.pattern() == Some(path)).unwrap().clone()
    };
    let first = resources.entries(table(&[("GET", "/a/:x"), ("GET", "/gone")]).shapes());
    let second = resources.entries(table(&[("PUT", "/a/:other")]).shapes());
    assert!(Arc::ptr_eq(&resource(&first, "/a/{p1}"), &resource(&second, "/a/{p1}")));
    // What no table needs is not kept.
    let third = resources.entries(table(&[("GET", "/gone")]).shapes());
    assert!(!Arc::ptr_eq(&resource(&first, "/gone"), &resource(&third, "/gone")));
}

#[test]
fn the_guard_of_a_shape_takes_its_methods_and_head_for_get() {
    let guard = MethodGuard::new(&table(&[("GET", "/"), ("PURGE", "/")]).shapes()[0]);
    let takes = |method: &[u8]| {
        let method = actix_web::http::Method::from_bytes(method).unwrap();
        let request = actix_web::test::TestRequest::default().method(method).to_srv_request();
        guard.check(&request.guard_ctx())
    };
    assert!(takes(b"GET") && takes(b"HEAD") && takes(b"PURGE"));
    assert!(!takes(b"POST") && !takes(b"get"));
}
