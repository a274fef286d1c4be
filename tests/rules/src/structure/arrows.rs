//! Which file takes which names from which other file: a name leads to the file that defines it, through re-exports.

use std::collections::{BTreeMap, BTreeSet};

use super::{Crate, Module};

/// The names that one file takes from another, by the two files.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target<'a> {
    /// To a module.
    Module(usize),
    /// To an item that this module defines, by its name there.
    Item(usize, &'a str),
}

/// How many re-exports a name may go through; more are a circle of them.
const LONGEST: usize = 20;

impl Crate {
    /// The arrows between the files. An arrow between a file and a child of it does not count.
    pub fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (here, module) in self.modules.iter().enumerate() {
            for path in &module.references {
                let Some(Target::Item(to, name)) = self.resolve(here, path, LONGEST) else {
                    continue;
                };
                let target = &self.modules[to];
                if target.file != module.file && !self.are_parent_and_child(here, to) {
                    let arrow = (module.file.clone(), target.file.clone());
                    arrows.entry(arrow).or_default().insert(name.to_owned());
                }
            }
        }
        arrows
    }

    fn are_parent_and_child(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.modules[one], &self.modules[other]);
        self.parent_file(one) == Some(&other.file) || self.parent_file(other) == Some(&one.file)
    }

    /// The file around the file of a module.
    fn parent_file<'a>(&'a self, mut module: &'a Module) -> Option<&'a String> {
        let file = &module.file;
        loop {
            module = &self.modules[module.parent?];
            if module.file != *file {
                return Some(&module.file);
            }
        }
    }

    fn resolve<'a>(&'a self, from: usize, path: &'a [String], left: usize) -> Option<Target<'a>> {
        let left = left.checked_sub(1)?;
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent?),
            name => self.find(from, name, rest.is_empty(), left)?,
        };
        while let (Target::Module(module), Some((name, further))) = (at, rest.split_first()) {
            at = match name.as_str() {
                "super" => Target::Module(self.modules[module].parent?),
                // What a macro makes is not seen; it stands in the module that was named.
                name => self
                    .find(module, name, further.is_empty(), left)
                    .unwrap_or(Target::Item(module, name)),
            };
            rest = further;
        }
        Some(at)
    }

    /// A name in a module. The last name of a path is rather an item than a module of the same name.
    fn find<'a>(&'a self, module: usize, name: &'a str, is_last: bool, left: usize) -> Option<Target<'a>> {
        let here = &self.modules[module];
        let child = here.children.get(name).map(|&child| Target::Module(child));
        let item = || {
            if here.defined.contains(name) {
                return Some(Target::Item(module, name));
            }
            if module == 0
                && let Some(&definer) = self.exported_macros.get(name)
            {
                return Some(Target::Item(definer, name));
            }
            if let Some(path) = here.imports.get(name)
                // `use name::…` names a crate unless something else here has the name.
                && (path[0] != name || child.is_some() && path.len() > 1)
            {
                return self.resolve(module, path, left);
            }
            let mut globs = here.globs.iter();
            globs.find_map(|path| match self.resolve(module, path, left)? {
                Target::Module(from) if from != module => self.find(from, name, is_last, left.checked_sub(1)?),
                _ => None,
            })
        };
        if is_last { item().or(child) } else { child.or_else(item) }
    }
}
