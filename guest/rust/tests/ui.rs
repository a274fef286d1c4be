//! The compiler's errors for invalid controllers and channels, word for word. `TRYBUILD=overwrite` updates the files.

#[test]
fn wrong_controllers_and_channels_do_not_compile_and_say_why() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
