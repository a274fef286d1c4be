#![no_main]

#[allow(dead_code, reason = "each target is one of them")]
mod routing;

libfuzzer_sys::fuzz_target!(|input: &[u8]| routing::guard(input));
