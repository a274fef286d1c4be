//! Modules in Rust: a cargo package becomes a component.
//!
//! The steps of a build: [`package`] finds the package, [`tools`] ensures the target of the compiler, [`cargo`] builds,
//! [`component`] turns the core module into a component.

mod cargo;
mod component;
mod package;
mod place;
mod sdk;
mod template;
mod tools;

use super::language::{Component, Language};
use super::sources;

pub(super) const RUST: Language = Language {
    names: &["rust"],
    manifest: "Cargo.toml",
    own: &["Cargo.toml", "build.rs", "src"],
    settings: &[
        "Cargo.toml",
        ".cargo",
        "config.toml",
        "rust-toolchain",
        "rust-toolchain.toml",
    ],
    extensions: &["rs"],
    no_controller: "in Rust, a controller has the attribute `#[controller]`, and its module names it in `module!`",
    keeps_component: false,
    find: |manifest, wanted, options, terminal| {
        let package = package::find(manifest, wanted)?;
        tools::ensure_target(&package.directory, tools::target(options), terminal)?;
        Ok(package)
    },
    build: |package, options| {
        let module = cargo::build(package, options)?;
        let (bytes, form) = component::encode(&module)?;
        let sources = sources::read(&module);
        Ok(Component {
            bytes,
            form,
            sources,
            program: None,
        })
    },
    tools: tools::report,
    reserved: place::RESERVED,
    check_place: place::check,
    files: template::files,
    sdk: sdk::SDK,
};
