//! Checks that each row has a test, that each fixture is used, and that the words of the case lists agree with each other.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use pointwork_suite::case::Part;
use pointwork_suite::cases;
use pointwork_suite::fixtures::{Fixture, RUNNER, guests_dir};
use pointwork_suite::rows::Rows;
use pointwork_wire_tests::differences::Differences;

use crate::trials;

trials! {
    every_row_has_a_test_or_a_reason,
    every_declared_difference_names_a_case,
    case_names_are_unique,
    the_words_of_a_case_agree,
    every_guest_folder_is_a_fixture,
    every_fixture_is_used_by_a_case,
}

async fn every_row_has_a_test_or_a_reason() -> Result<()> {
    Rows::load()?.table(&cases::all()).map(drop)
}

async fn every_declared_difference_names_a_case() -> Result<()> {
    let names = cases::all().iter().map(|case| case.name.to_owned()).collect();
    let verdict = Differences::declared().check_names(&names, |name| !name.contains("::"));
    verdict.map_err(anyhow::Error::msg)
}

async fn case_names_are_unique() -> Result<()> {
    let mut seen = BTreeSet::new();
    for case in cases::all() {
        ensure!(seen.insert(case.name), "two cases are named `{}`", case.name);
    }
    Ok(())
}

async fn the_words_of_a_case_agree() -> Result<()> {
    for case in cases::all() {
        ensure!(
            case.has_guest || !case.is_of(Part::Sdk),
            "the case `{}` is of `sdk` and `without guest`",
            case.name
        );
        ensure!(
            case.has_guest || case.fixtures.is_empty(),
            "the case `{}` names guests of `tests/guests` and is `without guest`",
            case.name
        );
        ensure!(
            !case.is_of(Part::Host) || case.exercises.len() == 1,
            "the case `{}` is of `host` and of another part; each case exercises the host",
            case.name
        );
    }
    Ok(())
}

async fn every_guest_folder_is_a_fixture() -> Result<()> {
    let fixtures = Fixture::ALL.iter().map(|fixture| fixture.folder());
    let known: BTreeSet<_> = fixtures.chain([RUNNER]).map(str::to_owned).collect();
    let entries = std::fs::read_dir(guests_dir()).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let found: BTreeSet<_> = folders
        .map(|folder| folder.file_name().into_string().unwrap())
        .collect();
    ensure!(found == known, "tests/guests has {found:?}, Fixture::ALL has {known:?}");
    Ok(())
}

async fn every_fixture_is_used_by_a_case() -> Result<()> {
    for fixture in Fixture::ALL {
        let used = cases::all().iter().any(|case| case.fixtures.contains(&fixture));
        ensure!(used, "no case uses the guest `{}`", fixture.folder());
    }
    Ok(())
}
