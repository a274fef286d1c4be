//! The structure of a crate: its modules, which file takes which name from which other, and the circles among them.

pub mod arrows;
pub mod circles;
pub mod layers;
pub mod read;
mod references;

use std::collections::{BTreeMap, BTreeSet};

use syn::Visibility;

/// The sources of one crate, parsed.
#[derive(Debug, Default)]
pub struct Crate {
    /// Its folder, from the root of the repository.
    pub folder: String,
    /// Its modules; the first is the root.
    pub modules: Vec<Module>,
    /// The modules that define the macros that are exported, and so stand at the crate's root.
    pub exported_macros: BTreeMap<String, usize>,
}

/// A module: a file, or a block within one.
#[derive(Debug, Default)]
pub struct Module {
    /// The file, from `src/`.
    pub file: String,
    /// The module around it.
    pub parent: Option<usize>,
    /// The modules in it, by name.
    pub children: BTreeMap<String, usize>,
    /// The names that it defines.
    pub defined: BTreeSet<String>,
    /// The types that it defines.
    pub types: Vec<TypeItem>,
    /// What `use` brings in, by the name that it has here.
    pub imports: BTreeMap<String, Vec<String>>,
    /// What `use …::*` brings in.
    pub globs: Vec<Vec<String>>,
    /// The paths that its code names, re-exports aside.
    pub references: BTreeSet<Vec<String>>,
}

/// A struct, an enum, a union, a trait or a type alias.
#[derive(Debug)]
pub struct TypeItem {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: usize,
    /// Whether it is there under a condition only, so that another one can stand in for it.
    pub conditional: bool,
}

impl Crate {
    /// The files of the crate, sorted.
    pub fn files(&self) -> BTreeSet<&str> {
        self.modules.iter().map(|module| module.file.as_str()).collect()
    }
}

/// Whether a file is generated: all that stands in a folder `bindings`, its `mod.rs` aside.
pub fn is_generated(file: &str) -> bool {
    file.split('/').rev().skip(1).any(|folder| folder == "bindings") && !file.ends_with("bindings/mod.rs")
}

fn is_reexport(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}
