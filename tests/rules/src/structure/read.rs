//! Reads a crate: follows `mod` from its root, and notes what each module defines and names.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Ident, Item, Lit, Meta, UseTree};

use super::references::{in_attribute, in_tokens};
use super::{Crate, Module, TypeItem, is_generated, is_reexport};
use crate::texts;

/// Every crate under `guest/`, `host/` and `adapters/`.
///
/// # Errors
/// If a file cannot be read or parsed, and if no crate is found.
pub fn crates() -> Result<Vec<Crate>> {
    let texts = texts()?;
    let manifests = texts.iter().filter_map(|text| text.path.strip_suffix("/Cargo.toml"));
    let folders = manifests.filter(|folder| {
        ["guest/", "host/", "adapters/"]
            .iter()
            .any(|room| folder.starts_with(room))
            && !folder.contains("/tests/")
    });
    let mut crates = Vec::new();
    for folder in folders {
        let of_crate = texts.iter().filter_map(|text| {
            let file = text.path.strip_prefix(folder)?.strip_prefix("/src/")?;
            file.ends_with(".rs").then(|| (file.to_owned(), text.text.clone()))
        });
        crates.push(read(folder, &of_crate.collect()).with_context(|| folder.to_owned())?);
    }
    ensure!(!crates.is_empty(), "no crate was found");
    Ok(crates)
}

/// Reads one crate from its files, by their paths from `src/`.
///
/// # Errors
/// If a file does not parse, or a module has no file.
pub fn read(folder: &str, files: &BTreeMap<String, String>) -> Result<Crate> {
    let mut reader = Reader {
        files,
        read: Crate {
            folder: folder.to_owned(),
            ..Crate::default()
        },
    };
    let root = ["lib.rs", "main.rs"].into_iter().find(|root| files.contains_key(*root));
    reader.file(root.context("no lib.rs and no main.rs")?.to_owned(), None)?;
    Ok(reader.read)
}

struct Reader<'a> {
    files: &'a BTreeMap<String, String>,
    read: Crate,
}

impl Reader<'_> {
    fn file(&mut self, file: String, parent: Option<usize>) -> Result<usize> {
        let text = self.files.get(&file).with_context(|| format!("no file `{file}`"))?;
        let parsed = syn::parse_file(text).with_context(|| file.clone())?;
        self.module(file, parent, &parsed.items)
    }

    fn module(&mut self, file: String, parent: Option<usize>, items: &[Item]) -> Result<usize> {
        let here = self.read.modules.len();
        let mut module = Module {
            file: file.clone(),
            parent,
            ..Module::default()
        };
        Items(&mut module).all(items);
        if is_generated(&file) {
            module.references.clear();
            module.types.clear();
        }
        self.read.modules.push(module);
        for item in items {
            match item {
                Item::Mod(item) if !is_for_tests(&item.attrs) => {
                    let child = match &item.content {
                        Some((_, items)) => self.module(file.clone(), Some(here), items)?,
                        None => self.file(self.file_of(here, item)?, Some(here))?,
                    };
                    self.read.modules[here].children.insert(item.ident.to_string(), child);
                }
                Item::Macro(item) if has(&item.attrs, "macro_export") => {
                    if let Some(name) = &item.ident {
                        self.read.exported_macros.insert(name.to_string(), here);
                    }
                }
                _ => {}
            }
        }
        Ok(here)
    }

    /// The file of `mod name;` in a module.
    fn file_of(&self, module: usize, item: &syn::ItemMod) -> Result<String> {
        let file = &self.read.modules[module].file;
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let join = |folder: &str, rest: &str| {
            if folder.is_empty() {
                rest.to_owned()
            } else {
                format!("{folder}/{rest}")
            }
        };
        if let Some(path) = item.attrs.iter().find_map(path_attribute) {
            return Ok(join(folder, &path));
        }
        let own = match name {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => join(folder, name.trim_end_matches(".rs")),
        };
        let candidates = [
            join(&own, &format!("{}.rs", item.ident)),
            join(&own, &format!("{}/mod.rs", item.ident)),
        ];
        let found = candidates.into_iter().find(|file| self.files.contains_key(file));
        found.with_context(|| format!("`mod {}` of `{file}` has no file", item.ident))
    }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) if pair.path.is_ident("path") => Some(text.value()),
        _ => None,
    }
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// Whether an item is there for tests only, fuzz targets included.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition: String = list.tokens.to_string().split_whitespace().collect();
            ["test", "any(test,fuzzing)"].contains(&&*condition) || condition.starts_with("all(test,")
        }
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    })
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Notes what the items of a module define and name.
struct Items<'a>(&'a mut Module);

impl Items<'_> {
    fn all(&mut self, items: &[Item]) {
        for item in items {
            if is_for_tests(attributes_of(item)) || matches!(item, Item::Mod(_)) {
                continue;
            }
            self.define(item);
            self.visit_item(item);
        }
    }

    fn define(&mut self, item: &Item) {
        let (name, is_type) = match item {
            Item::Const(item) => (&item.ident, false),
            Item::Static(item) => (&item.ident, false),
            Item::Fn(item) => (&item.sig.ident, false),
            Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => (ident, false),
            Item::Enum(item) => (&item.ident, true),
            Item::Struct(item) => (&item.ident, true),
            Item::Trait(item) => (&item.ident, true),
            Item::Type(item) => (&item.ident, true),
            Item::Union(item) => (&item.ident, true),
            _ => return,
        };
        self.0.defined.insert(name.to_string());
        if is_type {
            self.0.types.push(TypeItem {
                name: name.to_string(),
                line: name.span().start().line,
                conditional: has(attributes_of(item), "cfg"),
            });
        }
    }

    fn import(&mut self, tree: &UseTree, mut path: Vec<String>, reexport: bool) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path, reexport);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path.clone(), reexport);
                }
            }
            UseTree::Glob(_) => self.0.globs.push(path),
            UseTree::Name(name) => self.leaf(path, &name.ident, &name.ident, reexport),
            UseTree::Rename(rename) => self.leaf(path, &rename.ident, &rename.rename, reexport),
        }
    }

    fn leaf(&mut self, mut path: Vec<String>, name: &Ident, here: &Ident, reexport: bool) {
        let mut here = here.to_string();
        if name == "self" {
            if here == "self" {
                here = path.last().cloned().unwrap_or_default();
            }
        } else {
            path.push(name.to_string());
        }
        if !reexport {
            self.0.references.insert(path.clone());
        }
        self.0.imports.insert(here, path);
    }
}

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, Vec::new(), is_reexport(&item.vis));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    // `pub(crate)` and `pub(super)` name no dependency.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string());
            self.0.references.insert(segments.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.0.references.extend(in_tokens(call.tokens.clone()));
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.0.references.extend(in_attribute(attribute));
    }
}
