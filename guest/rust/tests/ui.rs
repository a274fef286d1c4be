//! What the compiler says about wrong controllers and channels, pinned word for word. `TRYBUILD=overwrite` writes the
//! files anew.

#[test]
fn wrong_controllers_and_channels_do_not_compile_and_say_why() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
