//! Checks that each row has its cases, that each fixture is used, and that `cases.txt` is up to date.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use pointwork_suite::cases;
use pointwork_suite::fixtures::{Fixture, RUNNER, guests_dir};
use pointwork_suite::rows::Rows;
use pointwork_wire_tests::differences::Differences;

use crate::trials;

trials! {
    every_row_has_its_cases_and_none_is_lost,
    every_declared_difference_names_a_case,
    case_names_are_unique,
    every_guest_folder_is_a_fixture,
    every_fixture_is_used_by_a_case,
}

async fn every_row_has_its_cases_and_none_is_lost() -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases.txt");
    let table = Rows::load()?.table(&cases::all())?;
    if std::env::var_os("POINTWORK_WRITE_CASES").is_some() {
        std::fs::write(&file, &table)?;
    }
    let expected = std::fs::read_to_string(&file)?;
    let (before, now): (BTreeSet<_>, BTreeSet<_>) = (expected.lines().collect(), table.lines().collect());
    let lost: Vec<_> = before.difference(&now).copied().collect();
    let new: Vec<_> = now.difference(&before).copied().collect();
    ensure!(
        expected == table,
        "cases.txt differs; write it again with POINTWORK_WRITE_CASES=1 if that is meant\nlost:\n{}\nnew:\n{}",
        lost.join("\n"),
        new.join("\n")
    );
    Ok(())
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
