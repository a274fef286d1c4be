//! The structure inside the crates: no circles, layers, unique type names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pointwork_rules::structure::Crate;
use pointwork_rules::structure::layers::Layers;
use pointwork_rules::structure::read::crates;

/// The folders of the crates that have layers, from the highest to the lowest.
const LAYERS: &[(&str, Layers)] = &[
    (
        "host/runtime",
        &[
            ("app", &["instance"]),
            ("instance", &["component", "scheduling"]),
            ("component", &["guest", "store", "scheduling"]),
            ("guest", &["scheduling"]),
            ("scheduling", &[]),
            ("store", &[]),
        ],
    ),
    (
        "host/core",
        &[
            ("adapter", &["exchange"]),
            ("exchange", &["events", "routing"]),
            ("events", &["routing"]),
            ("routing", &[]),
        ],
    ),
];

static CRATES: LazyLock<Vec<Crate>> = LazyLock::new(|| crates().expect("the crates can be read"));

/// Fails with every finding in every crate.
#[track_caller]
fn nowhere(rule: &str, findings: impl Fn(&Crate) -> Vec<String>) {
    let found: Vec<_> = CRATES.iter().flat_map(findings).collect();
    assert!(
        found.is_empty(),
        "{rule}; {} findings:\n{}",
        found.len(),
        found.join("\n")
    );
}

fn texts(found: Vec<impl ToString>) -> Vec<String> {
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn no_circle_between_folders() {
    nowhere("folders reach each other", |of_crate| texts(of_crate.folder_circles()));
}

#[test]
fn no_large_circle_within_a_folder() {
    nowhere("more than four files of a folder reach each other", |of_crate| {
        texts(of_crate.large_circles())
    });
}

#[test]
fn arrows_between_folders_point_downward() {
    nowhere("a folder takes from one above it", |of_crate| {
        let layers = LAYERS.iter().find(|(folder, _)| *folder == of_crate.folder);
        let upward = layers.map(|(_, layers)| of_crate.upward(layers)).unwrap_or_default();
        upward
            .iter()
            .map(|line| format!("{}: {line}", of_crate.folder))
            .collect()
    });
    for (folder, _) in LAYERS {
        assert!(
            CRATES.iter().any(|of_crate| of_crate.folder == *folder),
            "no crate in {folder}"
        );
    }
}

#[test]
fn type_names_are_unique_within_a_crate() {
    nowhere("a name stands for two types", |of_crate| {
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for module in &of_crate.modules {
            let mut conditional = Vec::new();
            for item in &module.types {
                // One of several, each under its own condition, is one type.
                if item.conditional && conditional.contains(&&item.name) {
                    continue;
                }
                conditional.extend(item.conditional.then_some(&item.name));
                let place = format!("src/{}:{}", module.file, item.line);
                places.entry(&item.name).or_default().push(place);
            }
        }
        places.retain(|_, places| places.len() > 1);
        let names = places.iter();
        names
            .map(|(name, places)| format!("{}: `{name}` in {}", of_crate.folder, places.join(", ")))
            .collect()
    });
}
