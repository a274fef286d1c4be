//! Explains why a component compiles slowly in a debug build: there the compiler in it is not optimised either, unless
//! the program's Cargo.toml has it optimised.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Nobody needs an explanation for less.
const LONG: Duration = Duration::from_secs(1);

/// In bytes per second of processor time. The compiler reads 60,000 at most if it is not optimised, and 300,000 at
/// `opt-level = 1`.
const SLOW: f64 = 150_000.0;

/// The lines that have the compiler optimised, and nothing else.
const LINES: &str = "\
[profile.dev.package]
cranelift-bforest.opt-level = 1
cranelift-codegen.opt-level = 1
cranelift-entity.opt-level = 1
cranelift-frontend.opt-level = 1
regalloc2.opt-level = 1
wasmparser.opt-level = 1
wasmtime.opt-level = 1
wasmtime-environ.opt-level = 1
wasmtime-internal-cranelift.opt-level = 1";

/// Logs a warning, once in each process, if compiling took long and the compiler is probably not optimised. `time` is
/// processor time: a busy machine does not count.
pub(super) fn explain(size: usize, time: Duration) {
    static EXPLAINED: AtomicBool = AtomicBool::new(false);
    if cfg!(debug_assertions) && is_slow(size, time) && !EXPLAINED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "compiling a component of {size} bytes took {:.1} s of processor time, since the compiler of this debug build is \
             not optimised. These lines in the Cargo.toml of the workspace change that:\n\n{LINES}\n",
            time.as_secs_f64()
        );
    }
}

fn is_slow(size: usize, time: Duration) -> bool {
    time > LONG && (size as f64) < SLOW * time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_is_long_for_the_size() {
        assert!(is_slow(200_000, Duration::from_secs(3)));
        assert!(!is_slow(200_000, Duration::from_millis(900)), "short");
        assert!(!is_slow(2_000_000, Duration::from_secs(4)), "large");
    }

    #[test]
    fn documentation_has_the_lines() {
        let documentation = include_str!("../../lib.rs").replace("//! ", "");
        assert!(documentation.contains(LINES));
    }

    /// Cargo warns about a package that the program does not have.
    #[test]
    fn lines_name_packages_that_every_program_has() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).expect("the workspace has it");
        let names = LINES.lines().skip(1).map(|line| line.split('.').next().unwrap());
        for name in names {
            assert!(lock.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
    }
}
