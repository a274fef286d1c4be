//! Which crate may depend on which, and what every crate has.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use pointwork_rules::root;

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .exec()
        .expect("`cargo metadata` runs")
}

/// The crates of the workspace that each crate of it may depend on, tests aside. A new crate needs a line here.
fn may_depend_on() -> BTreeMap<&'static str, &'static [&'static str]> {
    const ADAPTER: &[&str] = &["pointwork-core"];
    // Those whose framework is a service over hyper share the server under it.
    const OVER_HYPER: &[&str] = &["pointwork-core", "pointwork-server"];
    BTreeMap::from([
        ("pointwork-events", &[][..]),
        ("pointwork-patterns", &[]),
        ("pointwork-guest-macros", &["pointwork-patterns"]),
        ("pointwork-wasi", &[]),
        (
            "pointwork-guest",
            &["pointwork-events", "pointwork-guest-macros", "pointwork-patterns"],
        ),
        ("pointwork-core", &["pointwork-events", "pointwork-patterns"]),
        ("pointwork", &["pointwork-core", "pointwork-events"]),
        ("pointwork-admin", &["pointwork", "pointwork-core"]),
        ("pointwork-journal", &["pointwork-core"]),
        ("pointwork-nats", &["pointwork-core"]),
        ("pointwork-sqlite", &["pointwork-core"]),
        ("pointwork-c", &["pointwork-embed"]),
        ("pointwork-python", &["pointwork-embed"]),
        (
            "pointwork-embed",
            &["pointwork", "pointwork-config", "pointwork-core", "pointwork-hyper"],
        ),
        (
            "pointwork-config",
            &[
                "pointwork",
                "pointwork-core",
                "pointwork-journal",
                "pointwork-nats",
                "pointwork-sqlite",
            ],
        ),
        ("pointwork-server", ADAPTER),
        ("pointwork-axum", OVER_HYPER),
        ("pointwork-trillium", ADAPTER),
        ("pointwork-actix", ADAPTER),
        ("pointwork-salvo", OVER_HYPER),
        ("pointwork-hyper", OVER_HYPER),
        (
            "pointwork-cli",
            &[
                "pointwork",
                "pointwork-admin",
                "pointwork-config",
                "pointwork-core",
                "pointwork-events",
                "pointwork-axum",
                "pointwork-trillium",
                "pointwork-actix",
                "pointwork-salvo",
                "pointwork-hyper",
                "pointwork-wasi",
            ],
        ),
    ])
}

/// What a crate must not reach, however indirectly: who, whom, why.
const OUT_OF_REACH: &[(&str, &[&str], &str)] = &[
    (
        "pointwork-events",
        &["tokio", "wasmtime", "hyper", "http"],
        "guests are built for wasm32",
    ),
    (
        "pointwork-guest",
        &["tokio", "wasmtime", "hyper", "pointwork-core", "pointwork"],
        "guests are built for wasm32",
    ),
    (
        "pointwork-core",
        &[
            "tokio",
            "wasmtime",
            "hyper",
            "hyper-util",
            "axum",
            "actix-web",
            "salvo_core",
            "trillium",
        ],
        "the core knows no executor, no server and no WebAssembly runtime",
    ),
    (
        "pointwork",
        // hyper is there for a module's outgoing HTTP, as a client.
        &["pointwork-server", "axum", "actix-web", "salvo_core", "trillium"],
        "the runtime knows no adapter",
    ),
    (
        "pointwork-admin",
        // axum is what it answers with.
        &[
            "pointwork-server",
            "pointwork-axum",
            "actix-web",
            "salvo_core",
            "trillium",
        ],
        "the admin endpoint stands beside every adapter",
    ),
    (
        "pointwork-journal",
        &["wasmtime", "hyper", "axum", "actix-web", "salvo_core", "trillium"],
        "a store knows the seam of the core only",
    ),
    (
        "pointwork-nats",
        &["wasmtime", "hyper", "axum", "actix-web", "salvo_core", "trillium"],
        "a driver knows the seam of the core only",
    ),
    (
        "pointwork-sqlite",
        &["wasmtime", "hyper", "axum", "actix-web", "salvo_core", "trillium"],
        "a driver knows the seam of the core only",
    ),
    (
        "pointwork-config",
        &[
            "pointwork-server",
            "clap",
            "axum",
            "actix-web",
            "salvo_core",
            "trillium",
        ],
        "programs that embed an application read their settings by it",
    ),
    (
        "pointwork-server",
        &["wasmtime", "axum", "actix-web", "salvo_core", "trillium"],
        "a server knows no framework",
    ),
    (
        "pointwork-hyper",
        &["wasmtime", "axum", "actix-web", "salvo_core", "trillium"],
        "an adapter knows its framework only",
    ),
    (
        "pointwork-axum",
        &["wasmtime", "actix-web", "salvo_core", "trillium"],
        "an adapter knows its framework only",
    ),
    (
        "pointwork-salvo",
        &["wasmtime", "axum", "actix-web", "trillium"],
        "an adapter knows its framework only",
    ),
    (
        "pointwork-actix",
        &["wasmtime", "hyper", "axum", "salvo_core", "trillium"],
        "an adapter knows its framework only",
    ),
    (
        "pointwork-trillium",
        &["wasmtime", "hyper", "axum", "actix-web", "salvo_core"],
        "an adapter knows its framework only",
    ),
];

/// Every crate, the guests of the suite aside: they are as a user's guest is.
fn ours(metadata: &Metadata) -> BTreeMap<String, &Package> {
    metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| !package.manifest_path.as_str().contains("/tests/guests/"))
        .map(|package| (package.name.to_string(), package))
        .collect()
}

#[test]
fn arrows_point_from_the_adapters_and_the_runtime_to_the_core() {
    let metadata = metadata();
    let packages = ours(&metadata);
    let allowed = may_depend_on();
    let mut wrong = Vec::new();
    for (name, package) in &packages {
        if package.publish.is_some() {
            continue;
        }
        let Some(allowed) = allowed.get(name.as_str()) else {
            wrong.push(format!("`{name}` has no line here; give it one in this test"));
            continue;
        };
        for dependency in &package.dependencies {
            let is_ours = packages.contains_key(&dependency.name);
            if is_ours && dependency.kind != DependencyKind::Development && !allowed.contains(&dependency.name.as_str())
            {
                wrong.push(format!("`{name}` must not depend on `{}`", dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn nothing_depends_on_the_command_line() {
    let metadata = metadata();
    for (name, package) in ours(&metadata) {
        let depends = package
            .dependencies
            .iter()
            .any(|dependency| dependency.name == "pointwork-cli");
        assert!(!depends, "`{name}` depends on `pointwork-cli`");
    }
}

#[test]
fn forbidden_crates_are_out_of_reach() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("the metadata has a graph");
    let names: BTreeMap<_, _> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package.name.as_str()))
        .collect();
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    for (name, package) in ours(&metadata) {
        for (_, forbidden, why) in OUT_OF_REACH.iter().filter(|(who, ..)| *who == name) {
            let mut reached = BTreeSet::new();
            let mut next = vec![&package.id];
            while let Some(id) = next.pop() {
                for dependency in &nodes[id].deps {
                    // Dependencies of tests are not part of the crate.
                    let normal = dependency
                        .dep_kinds
                        .iter()
                        .any(|kind| kind.kind == DependencyKind::Normal);
                    if normal && reached.insert(&dependency.pkg) {
                        next.push(&dependency.pkg);
                    }
                }
            }
            for id in reached {
                assert!(
                    !forbidden.contains(&names[id]),
                    "`{name}` reaches `{}`: {why}",
                    names[id]
                );
            }
        }
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let metadata = metadata();
    for (name, package) in ours(&metadata) {
        let manifest = std::fs::read_to_string(&package.manifest_path).expect("the manifest is there");
        let manifest: toml::Table = manifest.parse().expect("the manifest is TOML");
        let inherits = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool);
        assert_eq!(inherits, Some(true), "`{name}` lacks `[lints] workspace = true`");
    }
}

#[test]
fn every_crate_has_a_description_and_the_licence() {
    let metadata = metadata();
    for (name, package) in ours(&metadata) {
        assert!(
            package.description.as_ref().is_some_and(|text| text.len() > 20),
            "`{name}` has no description"
        );
        assert_eq!(package.license.as_deref(), Some("MIT"), "`{name}`");
    }
}

/// The encoder of components and what it reads by. Another version beside that of wasmtime would be built for nothing.
#[test]
fn one_version_of_the_encoder_is_locked() {
    let metadata = metadata();
    for name in ["wasm-encoder", "wasmparser", "wit-component", "wit-parser"] {
        let found = metadata.packages.iter().filter(|package| package.name.as_str() == name);
        let versions: Vec<_> = found.map(|package| package.version.to_string()).collect();
        assert_eq!(versions.len(), 1, "`{name}` in {versions:?}");
    }
}
