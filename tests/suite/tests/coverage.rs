//! Nothing gets lost: each row has its cases, each fixture its use, and the golden table says so.

use std::collections::BTreeSet;
use std::path::Path;

use pointwork_suite::adapters::ADAPTERS;
use pointwork_suite::cases;
use pointwork_suite::fixtures::{Fixture, guests_dir};
use pointwork_suite::rows::Rows;

#[test]
fn every_row_is_proven_or_open() {
    let complaints = Rows::load().unwrap().complaints(&cases::all());
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_golden_table_is_up_to_date() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden.txt");
    let table = Rows::load().unwrap().table(&cases::all(), ADAPTERS);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    let (lost, new): (Vec<_>, Vec<_>) = {
        let (expected, table): (BTreeSet<_>, BTreeSet<_>) = (expected.lines().collect(), table.lines().collect());
        (
            expected.difference(&table).copied().collect(),
            table.difference(&expected).copied().collect(),
        )
    };
    assert!(
        expected == table,
        "golden.txt differs; run with UPDATE_GOLDEN=1 if that is meant\nno longer:\n{}\nnew:\n{}",
        lost.join("\n"),
        new.join("\n")
    );
}

#[test]
fn case_names_are_unique() {
    let mut seen = BTreeSet::new();
    for case in cases::all() {
        assert!(seen.insert(case.name), "two cases are named `{}`", case.name);
    }
}

#[test]
fn every_guest_folder_is_a_fixture() {
    let known: BTreeSet<_> = Fixture::ALL.iter().map(|fixture| fixture.folder().to_owned()).collect();
    let entries = std::fs::read_dir(guests_dir()).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let found: BTreeSet<_> = folders
        .map(|folder| folder.file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, known, "tests/guests on the left, Fixture::ALL on the right");
}

#[test]
fn every_fixture_is_used_by_a_case() {
    for fixture in Fixture::ALL {
        let used = cases::all().iter().any(|case| case.fixtures.contains(&fixture));
        assert!(used, "no case uses the guest `{}`", fixture.folder());
    }
}
