//! Which files the repository has, and which texts no file may contain.

use pointwork_rules::{Text, offenders, root, texts, texts_ending};

/// The names that the top level of the repository may have, hidden ones aside.
const TOP: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "adapters",
    "clippy.toml",
    "docs",
    "examples",
    "guest",
    "host",
    "rustfmt.toml",
    "tests",
    "wit",
];

#[test]
fn the_top_level_holds_what_it_should() {
    let mut texts: Vec<_> = texts().unwrap().into_iter().map(|text| text.path).collect();
    texts.retain(|path| !path.starts_with('.'));
    for path in texts {
        let top = path.split('/').next().unwrap_or_default();
        assert!(TOP.contains(&top), "`{top}` stands at the top level");
    }
}

/// The sources, except those of this crate, which names the texts that it forbids.
fn sources() -> Vec<Text> {
    let mut sources = texts_ending(".rs").unwrap();
    sources.retain(|source| !source.path.starts_with("tests/rules/"));
    sources
}

#[track_caller]
fn no_line(texts: &[Text], what: &str, wrong: impl Fn(&str) -> bool) {
    let offenders = offenders(texts, wrong);
    assert!(offenders.is_empty(), "{what}:\n{}", offenders.join("\n"));
}

#[test]
fn nothing_is_left_to_do() {
    no_line(&sources(), "unfinished code", |line| {
        line.contains("todo!") || line.contains("unimplemented!")
    });
    no_line(&sources(), "a note of what is left to do", |line| {
        line.contains("TODO") || line.contains("FIXME")
    });
}

#[test]
fn no_test_is_skipped() {
    no_line(&sources(), "a test that does not run", |line| {
        let line = line.trim_start();
        line.starts_with("#[ignore") || line.contains(", ignore)]") || line.contains("```ignore")
    });
}

#[test]
fn no_crate_waives_a_rule_of_documentation() {
    let mut written = sources();
    // Generated from the contract, which carries the documentation; and tests have no public items.
    written.retain(|source| !source.path.contains("bindings") && !source.path.contains("/tests/"));
    no_line(&written, "documentation waived", |line| {
        (line.contains("allow(") || line.contains("expect(")) && line.contains("missing_docs")
    });
    no_line(&written, "a whole file that waives a lint", |line| {
        line.trim_start().starts_with("#![allow")
    });
}

#[test]
fn a_waived_lint_has_a_reason() {
    let mut written = sources();
    // Generated attributes have no reasons.
    written.retain(|source| !source.path.contains("bindings/") || source.path.ends_with("mod.rs"));
    let offenders: Vec<_> = written
        .iter()
        .flat_map(|source| {
            let attributes = source
                .text
                .split("#[allow(")
                .skip(1)
                .chain(source.text.split("#[expect(").skip(1));
            attributes
                .filter_map(|rest| rest.split(")]").next())
                .filter(|attribute| !attribute.contains("reason"))
                .map(|attribute| format!("{}: {attribute}", source.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        offenders.is_empty(),
        "a lint waived without `reason`:\n{}",
        offenders.join("\n")
    );
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let mut texts = texts().unwrap();
    texts.retain(|text| !text.path.starts_with("tests/rules/") && text.path != ".gitignore");
    let places = ["/home/", "/root/", "/Users/", "C:\\Users"];
    no_line(&texts, "the path of one machine", |line| {
        places.iter().any(|place| line.contains(place))
    });
}

#[test]
fn locks_name_no_registry() {
    for lock in texts_ending("package-lock.json").unwrap() {
        assert!(
            !lock.text.contains("\"resolved\""),
            "{} holds addresses of a registry",
            lock.path
        );
    }
}

#[test]
fn no_built_component_is_kept() {
    // Old components that must load for ever, and the adapters, which tests of their crate compare with their sources.
    const ADAPTERS: [&str; 2] = ["/guest/wasi/src/adapter.wasm", "/guest/wasi/src/component.wasm"];
    let is_adapter = |name: &str| ADAPTERS.iter().any(|adapter| name.ends_with(adapter));
    let is_meant = |name: &str| name.contains("/tests/guests/kept/") || is_adapter(name);
    let kept: Vec<_> = walk_names()
        .into_iter()
        .filter(|name| name.ends_with(".wasm") && !is_meant(name))
        .collect();
    assert!(kept.is_empty(), "{kept:?}");
}

fn walk_names() -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root()).build();
    walk.filter_map(Result::ok)
        .map(|entry| entry.path().display().to_string())
        .collect()
}
