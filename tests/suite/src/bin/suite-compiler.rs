//! Compiles the components of the tests; see [`pointwork_suite::languages::compile`].

fn main() -> anyhow::Result<()> {
    pointwork_suite::languages::compile()
}
