//! Modules in Python: a project with a `pyproject.toml` becomes a component.
//!
//! The steps of a build: [`package`] finds the project, [`tools`] makes its virtual environment, [`build`] runs the build
//! tool of the SDK there.

mod build;
mod package;
mod sdk;
mod template;
mod tools;

use super::language::Language;

pub(super) const PYTHON: Language = Language {
    names: &["python"],
    manifest: "pyproject.toml",
    own: &["pyproject.toml", "requirements.txt", "src"],
    settings: &["pyproject.toml", "requirements.txt"],
    extensions: &["py"],
    no_controller: "in Python, a controller is a class with `@controller`, and `app = Module(controllers=[…])` lists it",
    keeps_component: true,
    find: package::find,
    build: build::build,
    tools: tools::report,
    reserved: template::RESERVED,
    check_place: |_| Ok(()),
    files: template::files,
    sdk: sdk::SDK,
};
