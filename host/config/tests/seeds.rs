//! The fuzz target of the configuration, on its seeds.

#[path = "../../../tests/fuzz/targets/settings.rs"]
mod settings;

#[test]
fn seeds_of_configuration() {
    pointwork_seeds::run("configuration", 1_000, settings::configuration);
}
