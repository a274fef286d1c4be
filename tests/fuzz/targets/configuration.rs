//! The command is a binary, so its sources are compiled into this one.
#![no_main]

#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../../host/cli/src/config/mod.rs"]
mod config;
#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../../host/cli/src/error.rs"]
mod error;
#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../../host/cli/src/exit.rs"]
mod exit;
#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../../host/cli/src/suggest.rs"]
mod suggest;

libfuzzer_sys::fuzz_target!(|input: &[u8]| config::fuzz::configuration(input));
