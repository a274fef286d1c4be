#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| pointwork_config::fuzz::configuration(input));
