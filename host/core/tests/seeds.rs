//! The fuzz targets of the routing, on their seeds.

#[path = "../../../tests/fuzz/targets/routing.rs"]
mod routing;

use pointwork_seeds::run;

#[test]
fn seeds_of_pattern() {
    run("pattern", 2_000, routing::pattern);
}

#[test]
fn seeds_of_table() {
    run("table", 1_000, routing::table);
}

#[test]
fn seeds_of_guard() {
    run("guard", 3_000, routing::guard);
}
