#![no_main]

mod settings;

libfuzzer_sys::fuzz_target!(|input: &[u8]| settings::configuration(input));
