//! The contract in `wit/`: documented throughout, of one version, and the same in each copy.

use pointwork_rules::{root, texts};
use wit_parser::{Docs, Resolve, TypeDefKind};

fn contract() -> (Resolve, wit_parser::PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(root().join("wit")).expect("the contract parses");
    (resolve, package)
}

/// Collects the items without documentation.
#[derive(Default)]
struct Missing(Vec<String>);

impl Missing {
    fn look(&mut self, docs: &Docs, what: impl FnOnce() -> String) {
        if docs.contents.as_ref().is_none_or(|text| text.trim().is_empty()) {
            self.0.push(what());
        }
    }
}

/// The fields of a record and the cases of a variant.
fn parts(kind: &TypeDefKind) -> Vec<(&str, &Docs)> {
    match kind {
        TypeDefKind::Record(record) => record
            .fields
            .iter()
            .map(|field| (field.name.as_str(), &field.docs))
            .collect(),
        TypeDefKind::Variant(variant) => variant
            .cases
            .iter()
            .map(|case| (case.name.as_str(), &case.docs))
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_item_of_the_contract_is_documented() {
    let (resolve, package) = contract();
    let mut missing = Missing::default();
    for (name, &world) in &resolve.packages[package].worlds {
        missing.look(&resolve.worlds[world].docs, || format!("world {name}"));
    }
    for (interface_name, &id) in &resolve.packages[package].interfaces {
        let interface = &resolve.interfaces[id];
        missing.look(&interface.docs, || format!("interface {interface_name}"));
        for (name, function) in &interface.functions {
            missing.look(&function.docs, || format!("{interface_name}.{name}"));
        }
        let types = interface.types.values();
        let explained: String = types
            .filter_map(|&id| resolve.types[id].docs.contents.as_deref())
            .collect();
        for (name, &id) in &interface.types {
            let item = &resolve.types[id];
            // A type that comes in through `use` is documented where it is from.
            if matches!(item.kind, TypeDefKind::Type(_)) {
                continue;
            }
            missing.look(&item.docs, || format!("{interface_name}.{name}"));
            let of_type = item.docs.contents.as_deref().unwrap_or_default().to_lowercase();
            let mut above = String::new();
            for (part, docs) in parts(&item.kind) {
                // A small type may explain its parts in its own text, one text may explain two parts in a row, and a part
                // that occurs in several types is explained once, in backticks.
                let is_explained = of_type.contains(part)
                    || above.to_lowercase().contains(part)
                    || explained.contains(&format!("`{part}`"));
                if !is_explained {
                    missing.look(docs, || format!("{interface_name}.{name}.{part}"));
                }
                above = docs.contents.clone().unwrap_or(above);
            }
        }
    }
    assert!(missing.0.is_empty(), "without documentation: {}", missing.0.join(", "));
}

#[test]
fn every_world_of_a_controller_imports_this_package_alone() {
    let (resolve, package) = contract();
    for (name, &world) in &resolve.packages[package].worlds {
        for (key, item) in &resolve.worlds[world].imports {
            let wit_parser::WorldItem::Interface { id, .. } = item else {
                panic!("world {name} imports a bare item")
            };
            let from = resolve.interfaces[*id].package;
            assert_eq!(
                from,
                Some(package),
                "world {name} imports {}",
                resolve.name_world_key(key)
            );
        }
    }
}

/// The packages that contain the contract. `cargo package` and setuptools follow a symbolic link to a folder; npm does not, so the
/// build of the TypeScript SDK copies the folder.
const LINKS: &[&str] = &[
    "guest/js/wit",
    "guest/python/src/pointwork_guest/wit",
    "host/runtime/wit",
];

#[test]
fn packages_link_the_one_contract() {
    let contract = root().join("wit").canonicalize().expect("the contract is there");
    for link in LINKS {
        let path = root().join(link);
        let target =
            std::fs::read_link(&path).unwrap_or_else(|error| panic!("`{link}` is not a symbolic link: {error}"));
        assert!(target.is_relative(), "`{link}` is absolute: {}", target.display());
        assert_eq!(path.canonicalize().expect("the link has a target"), contract, "{link}");
    }
}

#[test]
fn the_contract_has_one_version() {
    let (resolve, package) = contract();
    let version = resolve.packages[package]
        .name
        .version
        .as_ref()
        .expect("the contract has a version")
        .to_string();
    let mentions = |text: &str| -> Vec<String> {
        let versions = text.match_indices("pointwork:module").filter_map(|(at, _)| {
            let rest = text[at..].split_once('@')?;
            let between = rest.0.trim_start_matches("pointwork:module");
            let plain = |c: char| c.is_ascii_lowercase() || matches!(c, '/' | '-');
            let version: String = rest.1.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            (between.chars().all(plain) && !version.is_empty()).then(|| version.trim_end_matches('.').to_owned())
        });
        versions.collect()
    };
    // The suite names versions that do not exist, on purpose.
    let exempt = ["tests/suite/", "tests/rules/", "tests/guests/kept/", "CHANGELOG.md"];
    let read = [".rs", ".wit", ".wat", ".js", ".md", ".toml"];
    for text in texts().unwrap() {
        if !read.iter().any(|end| text.path.ends_with(end)) || exempt.iter().any(|start| text.path.starts_with(start)) {
            continue;
        }
        for mentioned in mentions(&text.text) {
            // Generated code names exports by the compatible part of the version as well.
            let same = mentioned == version || version.starts_with(&format!("{mentioned}."));
            assert!(
                same,
                "{} names version {mentioned} of the contract, which is at {version}",
                text.path
            );
        }
    }
}
