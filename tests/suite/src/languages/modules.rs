//! The built modules, one for each form of a language.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;

use anyhow::Result;

use super::{Language, slot};
use crate::fixtures::{python_guest, rust, typescript};

static RUST: OnceLock<Vec<Module>> = OnceLock::new();
static TYPESCRIPT: OnceLock<Vec<Module>> = OnceLock::new();
static PYTHON: OnceLock<Vec<Module>> = OnceLock::new();

/// A built module, and the place of the program in it.
pub(super) struct Module {
    pub(super) component: Vec<u8>,
    pub(super) place: usize,
}

/// The folder of the built modules and of their compiled code: `tmp/languages` in the target folder of this program. It outlives the
/// run, and all programs of the tests share it.
pub(super) fn directory() -> PathBuf {
    let program = env::current_exe().expect("the program has a path");
    // target/debug/deps/program
    let target = program
        .ancestors()
        .nth(3)
        .expect("cargo built the program in a target folder");
    target.join("tmp/languages")
}

/// The module of a form.
pub(super) fn of(language: Language, asynchronous: bool) -> &'static Module {
    &all(language)[usize::from(asynchronous)]
}

/// The places of the programs in the modules of a language.
pub(super) fn places(language: Language) -> Vec<usize> {
    all(language).iter().map(|module| module.place).collect()
}

fn all(language: Language) -> &'static [Module] {
    let (modules, entries): (_, &[&str]) = match language {
        Language::Rust => (&RUST, &["", "asynchronous"]),
        Language::TypeScript => (&TYPESCRIPT, &["src/module.ts"]),
        Language::Python => (&PYTHON, &["module_sync.py", "module_async.py"]),
    };
    modules.get_or_init(|| {
        thread::scope(|scope| {
            let builds: Vec<_> = entries
                .iter()
                .map(|entry| scope.spawn(|| build(language, entry)))
                .collect();
            let built = builds
                .into_iter()
                .map(|build| build.join().expect("a build does not panic"));
            let built: Result<_> = built.collect();
            built.unwrap_or_else(|error| panic!("the module in {}: {error:#}", language.name()))
        })
    })
}

/// An entry is a file of the module, or the features of its crate.
fn build(language: Language, entry: &str) -> Result<Module> {
    let directory = directory();
    let component = match language {
        Language::Rust => rust::build_runner(&directory, entry)?,
        Language::TypeScript => typescript::build(&directory, entry)?,
        Language::Python => python_guest::build(&directory, entry)?,
    };
    let place = slot::find(&component)?;
    Ok(Module { component, place })
}
