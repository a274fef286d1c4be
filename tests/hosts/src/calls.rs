//! Counts which public functions of a binding the cases have called.
//!
//! The selected cases of the gate must not leave a part of a binding untested. Each program therefore tells the first call of each
//! public function, and [`Calls`] keeps the names for all programs of a language. After the last case, [`Calls::missing`] compares
//! the names with the interface of the binding. A function that no case calls has to be called by the binding's own tests, whose
//! sources are searched for the name: these tests run as a whole in every gate.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

/// The public functions of a binding that the cases have called.
#[derive(Debug, Default)]
pub struct Calls {
    names: Mutex<BTreeSet<String>>,
    passed: AtomicUsize,
}

impl Calls {
    /// Records that a program called a function.
    pub(crate) fn record(&self, name: String) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    }

    /// Records that a case ended as expected.
    pub fn pass_case(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of cases that ended as expected.
    pub fn passed(&self) -> usize {
        self.passed.load(Ordering::Relaxed)
    }

    /// The public functions that are called neither by a case nor by the binding's own tests.
    ///
    /// The tests do not count for a function that the program's source mentions: a case has to call the function. `program` is `None`
    /// for a language whose methods share their names with other words of the source.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn missing(&self, public: &[String], program: Option<&Path>, tests: &Path) -> io::Result<Vec<String>> {
        let (program, tests) = (program.map_or(Ok(String::new()), read_all)?, read_all(tests)?);
        let (program, tests) = (words(&program), words(&tests));
        let called = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_called = |name: &str| {
            // The last part of a method's name is the word that its caller writes.
            let word = name.rsplit('.').next().unwrap_or(name);
            called.contains(name) || tests.contains(word) && !program.contains(word)
        };
        Ok(public.iter().filter(|name| !is_called(name)).cloned().collect())
    }
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

/// The text of a file, or of all files below a folder.
fn read_all(path: &Path) -> io::Result<String> {
    if path.is_file() {
        // A compiled file of Python is no text.
        return Ok(String::from_utf8(fs::read(path)?).unwrap_or_default());
    }
    let mut text = String::new();
    for entry in fs::read_dir(path)? {
        text += &read_all(&entry?.path())?;
        text.push('\n');
    }
    Ok(text)
}
