//! The suite's guests that are made with an SDK.
//!
//! For each form of a language a module is built once, with the SDK of `guest`: `tests/guests/runner` in Rust, and
//! `tests/suite/<language>` in the other languages. The module runs the programs of a [`Guest`], which are written into a copy
//! of the component. The guests of a case are in Rust. While a case [speaks](Language::speaking) another language, every guest
//! that it builds in a form of that language is in that language; a guest that no module in the language can be is a failure
//! with the reason, which `<language>.toml` declares of the case.

mod declared;
mod has_guest;
mod modules;
mod program;
mod slot;
mod worker;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use pointwork::Worker;
use serde_json::{Value, json};

use crate::fixtures::{Fixture, typescript};
use crate::guest::Guest;

pub use declared::Declared;
pub use worker::compile;

/// A language of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Both forms; the language of a case that speaks no other one.
    Rust,
    /// The synchronous form alone.
    TypeScript,
    /// Both forms.
    Python,
}

thread_local! {
    static SPEAKS: Cell<Option<Language>> = const { Cell::new(None) };
    static HAS_BUILT: Cell<bool> = const { Cell::new(false) };
}

impl Language {
    /// The languages that have tests of their own.
    pub const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
        }
    }

    /// The name of its folder and files, and of its tests.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// Runs a case whose guests are in this language, on this thread, and tells whether it had one.
    pub fn speaking<T>(self, run: impl FnOnce() -> T) -> (T, bool) {
        SPEAKS.set(Some(self));
        HAS_BUILT.set(false);
        let outcome = run();
        SPEAKS.set(None);
        (outcome, HAS_BUILT.get())
    }

    /// Builds the modules of the language, which later runs find in the folder.
    ///
    /// # Panics
    /// If a module does not build.
    pub fn build_modules(self) {
        modules::places(self);
    }

    fn has(self, asynchronous: bool) -> bool {
        self != Self::TypeScript || !asynchronous
    }

    /// How many times as long a case may wait: a debug build of the host makes an instance of Python in some 50 milliseconds.
    fn patience(self) -> u32 {
        match self {
            Self::Rust | Self::TypeScript => 1,
            Self::Python => 4,
        }
    }

    /// The memory that an instance needs beside the texts of its programs, which a case does not count on.
    fn memory(self) -> usize {
        match self {
            Self::Rust => 2 * 1024 * 1024,
            Self::TypeScript => 16 * 1024 * 1024,
            Self::Python => 48 * 1024 * 1024,
        }
    }
}

/// The guest, made with the SDK of the language that the case speaks, or of Rust if that language does not have the form.
///
/// # Panics
/// If no module in the language can be such a guest.
pub(crate) fn build(guest: &Guest) -> Vec<u8> {
    let spoken = SPEAKS.get().filter(|language| language.has(guest.asynchronous));
    if spoken.is_some() {
        HAS_BUILT.set(true);
    }
    let language = spoken.unwrap_or(Language::Rust);
    let program = program::of(guest, language);
    let program = program.unwrap_or_else(|reason| panic!("not in {}: {reason}", language.name()));
    with(language, guest.asynchronous, &program)
}

fn with(language: Language, asynchronous: bool, program: &Value) -> Vec<u8> {
    let module = modules::of(language, asynchronous);
    let mut component = module.component.clone();
    let written = slot::write(&mut component, module.place, program.to_string().as_bytes());
    written.unwrap_or_else(|reason| panic!("not in {}: {reason}", language.name()));
    component
}

/// The twin of a guest in the language that the case speaks: it does the same. The twins in Python are in the module for programs.
///
/// # Errors
/// If it does not build.
pub(crate) fn twin(fixture: Fixture) -> Option<Result<Arc<[u8]>>> {
    let language = SPEAKS.get()?;
    let (name, asynchronous) = match fixture {
        Fixture::RustBasic => ("basic", false),
        Fixture::RustAsync => ("basic", true),
        Fixture::RustChannels => ("channels", false),
        Fixture::RustChannelsAsync => ("channels", true),
        Fixture::RustGuards => ("guards", false),
        Fixture::RustGuardsAsync => ("guards", true),
        _ => return None,
    };
    if !language.has(asynchronous) {
        return None;
    }
    HAS_BUILT.set(true);
    Some(match language {
        // The fixtures are in Rust.
        Language::Rust => return None,
        Language::TypeScript => typescript::build(&modules::directory(), &format!("twins/{name}.ts")).map(Arc::from),
        Language::Python => Ok(with(language, asynchronous, &json!({ "twin": name })).into()),
    })
}

/// The memory that an instance needs beside the texts of its programs, in bytes. A subject adds it to the limit of a case.
pub fn memory() -> usize {
    spoken().memory()
}

fn spoken() -> Language {
    SPEAKS.get().unwrap_or(Language::Rust)
}

/// Whether an instance takes a debug build of the host a noticeable time.
pub(crate) fn is_interpreted() -> bool {
    spoken() != Language::Rust
}

/// See [`Language::patience`].
pub(crate) fn patience() -> u32 {
    spoken().patience()
}

/// How long a call waits for an instance: beside other cases, one of an interpreter takes seconds. A case may wait twice
/// while an upload stands still, which `body-rate` ends after 10 seconds.
pub(crate) fn queue_wait(wanted: Duration) -> Duration {
    if patience() == 1 {
        wanted
    } else {
        wanted.max(Duration::from_secs(3))
    }
}

/// For a case that makes ten new instances within half a second.
///
/// # Panics
/// If an instance of the language that the case speaks takes too long.
pub(crate) fn expect_quick_instances() {
    not_in_python("ten new instances take longer than half a second");
}

/// For a case in which a call waits for a lock that another call of its instance holds.
///
/// # Panics
/// If nothing can wake such a call in the language that the case speaks.
pub(crate) fn expect_locks_between_calls() {
    not_in_python("a call that waits for a lock which another call holds cannot be woken, and ends with an exception");
}

fn not_in_python(reason: &str) {
    if let Some(language @ Language::Python) = SPEAKS.get() {
        panic!("not in {}: {reason}", language.name());
    }
}

/// The program that compiles the components of a case.
pub fn compiler() -> Worker {
    let command = compiler_command();
    command[1..].iter().fold(Worker::new(&command[0]), Worker::argument)
}

/// The variable of the environment, with its value, by which a program with a debug build of `pointwork` compiles components as
/// [`compiler`] does.
pub fn compiler_of_programs() -> (&'static str, String) {
    (worker::VARIABLE, json!(compiler_command()).to_string())
}

fn compiler_command() -> Vec<String> {
    let mut places = modules::places(Language::Rust);
    if let Some(language) = SPEAKS.get() {
        places.extend(modules::places(language));
    }
    worker::command(&modules::directory(), &places)
}
