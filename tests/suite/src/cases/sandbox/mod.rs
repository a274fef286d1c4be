//! Modules that change while the application serves, and their limits (spec S1, S2).
//!
//! Most cases run with the module in each form in turn. No case asserts a time: gates, counters and the server's own
//! events prove the order.

mod after_calls;
mod bodies;
mod breaker;
mod cleanup;
mod declarations;
mod drain;
mod host_memory;
mod instances;
mod limits;
mod log_lines;
mod neighbours;
mod overload;
mod refused;
mod slow;
mod swaps;
mod trial;
mod under_load;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use pointwork::{ModuleState, ModuleStatus};
use pointwork_test_clock::real::until;

use super::watch;
use crate::case::{Case, Live};
use crate::flavor::Flavor;
use crate::guest::{Controller, End, Guest, Program};
use crate::subject::Step;

/// The cases of all files of this folder.
pub(super) fn all() -> Vec<Case> {
    let files = [
        swaps::all,
        cleanup::all,
        under_load::all,
        drain::all,
        refused::all,
        trial::all,
        limits::all,
        overload::all,
        slow::all,
        instances::all,
        neighbours::all,
        breaker::all,
        host_memory::all,
        declarations::all,
        log_lines::all,
        bodies::all,
        after_calls::all,
    ];
    files.into_iter().flat_map(|file| file()).collect()
}

/// The module that the cases change.
const SHOP: &str = "shop";

/// The time between two checks of the application for idle instances, drained versions and handlers that often crash.
const TICK: Duration = Duration::from_millis(500);

/// A version of the module: `/kept` and a route of its own return the version, and `/trap` traps.
fn version(form: Flavor, word: &str) -> Arc<[u8]> {
    guest_of_version(form, word).build().into()
}

fn guest_of_version(form: Flavor, word: &str) -> Guest {
    let things = Controller::new("Things", "/")
        .get("kept", Program::text(word))
        .get(&format!("only-{word}"), Program::text(word))
        .get("trap", Program::new().ends(End::Trap));
    form.form(Guest::with(things))
}

fn swap(component: Arc<[u8]>) -> Step {
    Step::Swap(SHOP.to_owned(), component)
}

/// Checks that this version serves, and the other one does not.
async fn serves(live: &Live, word: &str, other: &str) -> Result<()> {
    assert_eq!(live.get("/kept").await?.text(), word);
    assert_eq!(live.get(&format!("/only-{word}")).await?.text(), word);
    assert_eq!(live.get(&format!("/only-{other}")).await?.status, 404);
    Ok(())
}

/// The status of the module.
fn status(live: &Live) -> Result<ModuleStatus> {
    let found = live
        .control()
        .statuses()
        .into_iter()
        .find(|status| status.info.name == SHOP);
    found.context("the module has no status")
}

/// Waits until the module is in that state.
async fn comes_to(live: &Live, state: ModuleState) -> Result<()> {
    let is_there = || status(live).is_ok_and(|status| status.state == state);
    until(&format!("the module is {state:?}"), is_there).await
}
