//! Modules in TypeScript and JavaScript: a package of npm becomes a component.
//!
//! The steps of a build: [`package`] finds the package, [`tools`] has npm install what is missing, [`build`] runs the
//! build tool of the SDK in Node.

mod build;
mod package;
mod sdk;
mod template;
mod tools;

use super::language::Language;

pub(super) const TYPESCRIPT: Language = Language {
    names: &["ts", "js"],
    manifest: "package.json",
    own: &["package.json", "tsconfig.json", "src"],
    settings: &["package.json", "tsconfig.json"],
    extensions: &["ts", "mts", "cts", "tsx", "js", "mjs", "cjs", "jsx"],
    no_controller: "in TypeScript, a controller has the decorator `@Controller`, and `module({ controllers: […] })` lists it",
    keeps_component: true,
    find: package::find,
    build: build::build,
    tools: tools::report,
    reserved: template::RESERVED,
    check_place: |_| Ok(()),
    files: template::files,
    sdk: sdk::SDK,
};
