//! The cases, by subject.

mod bodies;
mod channels;
mod context;
mod contract;
mod crashes;
mod declarations;
mod environment;
mod errors;
mod framing;
mod grants;
mod guards;
mod guests;
mod limits;
mod manifest;
mod manual;
mod methods;
mod origins;
mod paths;
mod prefix;
mod refusals;
mod replies;
mod rust_guests;
mod rust_parts;
mod sandbox;
mod standard_library;
mod streams;
mod variables;
mod watch;

use std::sync::Arc;

use crate::case::Case;
use crate::guest::{Controller, Guest, Program};

/// All cases, in the order of the files and within them.
pub fn all() -> Vec<Case> {
    let files = [
        declarations::all,
        manifest::all,
        paths::all,
        manual::all,
        origins::all,
        prefix::all,
        context::all,
        bodies::all,
        replies::all,
        errors::all,
        channels::all,
        crashes::all,
        methods::all,
        framing::all,
        limits::all,
        streams::all,
        grants::all,
        refusals::all,
        contract::all,
        environment::all,
        variables::all,
        guards::all,
        guests::all,
        rust_guests::all,
        rust_parts::all,
        sandbox::all,
        standard_library::all,
    ];
    files.into_iter().flat_map(|file| file()).collect()
}

/// The case of that name.
///
/// # Panics
/// If no case has that name.
pub fn named(name: &str) -> Case {
    let found = all().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no case is named `{name}`"))
}

/// A module with one controller at the root.
fn at_root(routes: impl FnOnce(Controller) -> Controller) -> Arc<[u8]> {
    Guest::with(routes(Controller::new("Things", "/"))).build().into()
}

/// A module with one GET route that replies with a fixed text.
fn fixed(path: &str, text: &str) -> Arc<[u8]> {
    at_root(|things| things.get(path, Program::text(text)))
}
