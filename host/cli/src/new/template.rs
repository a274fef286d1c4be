//! The projects that `pointwork new` makes.

use std::path::Path;

use super::sdk::Sdk;
use crate::error::Result;

/// The content of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Template {
    /// A module with a controller, whose events SQLite answers
    #[default]
    Controller,
    /// A module with a channel, which keeps its data in a directory
    Channel,
    /// A module with a controller, a module with a channel, and a crate with their events
    Both,
    /// An axum application that mounts a module; needs --sdk-path, the folder guest/rust in a clone
    Host,
}

/// Texts that have a place in several templates.
const CONTROLLERS: &str = include_str!("template/controllers.rs.in");
const CHANNEL: &str = include_str!("template/channel.rs.in");
const EVENTS: &str = include_str!("template/events.rs.in");
const IGNORED: &str = include_str!("template/gitignore.in");

/// The files of a project: the path and the text of each.
type Files = &'static [(&'static str, &'static str)];

const CONTROLLER_FILES: Files = &[
    ("Cargo.toml", include_str!("template/controller/Cargo.toml.in")),
    ("README.md", include_str!("template/controller/README.md.in")),
    ("pointwork.toml", include_str!("template/controller/pointwork.toml.in")),
    ("schema.sql", include_str!("template/controller/schema.sql.in")),
    ("src/lib.rs", CONTROLLERS),
    ("src/events.rs", EVENTS),
    (".gitignore", IGNORED),
];
const CHANNEL_FILES: Files = &[
    ("Cargo.toml", include_str!("template/channel/Cargo.toml.in")),
    ("README.md", include_str!("template/channel/README.md.in")),
    ("pointwork.toml", include_str!("template/channel/pointwork.toml.in")),
    ("src/lib.rs", CHANNEL),
    ("src/events.rs", EVENTS),
    (".gitignore", IGNORED),
];
const BOTH_FILES: Files = &[
    ("Cargo.toml", include_str!("template/both/Cargo.toml.in")),
    ("README.md", include_str!("template/both/README.md.in")),
    ("pointwork.toml", include_str!("template/both/pointwork.toml.in")),
    ("channels/Cargo.toml", include_str!("template/both/channels.toml.in")),
    ("channels/src/lib.rs", CHANNEL),
    (
        "controllers/Cargo.toml",
        include_str!("template/both/controllers.toml.in"),
    ),
    ("controllers/src/lib.rs", CONTROLLERS),
    ("events/Cargo.toml", include_str!("template/both/events.toml.in")),
    ("events/src/lib.rs", EVENTS),
    (".gitignore", IGNORED),
];
const HOST_FILES: Files = &[
    ("Cargo.toml", include_str!("template/host/Cargo.toml.in")),
    ("README.md", include_str!("template/host/README.md.in")),
    ("src/main.rs", include_str!("template/host/main.rs.in")),
    (
        "controllers/Cargo.toml",
        include_str!("template/host/controllers.toml.in"),
    ),
    ("controllers/src/lib.rs", CONTROLLERS),
    ("events/Cargo.toml", include_str!("template/host/events.toml.in")),
    ("events/src/lib.rs", EVENTS),
    (".gitignore", "target\n"),
];

impl Template {
    /// The paths and texts of a project's files, the SDK aside.
    pub(super) fn files(self, name: &str, sdk: &Sdk) -> Result<Vec<(&'static str, String)>> {
        let (files, shares_events) = match self {
            Self::Controller => (CONTROLLER_FILES, false),
            Self::Channel => (CHANNEL_FILES, false),
            Self::Both => (BOTH_FILES, true),
            Self::Host => (HOST_FILES, true),
        };
        let mut values = vec![("@NAME@", name.to_owned()), ("@SDK@", quoted(&sdk.path()))];
        if shares_events {
            values.extend([
                ("@MOD_EVENTS@", String::new()),
                ("@EVENTS@", format!("{}_events", name.replace('-', "_"))),
                ("@EVENTS_SDK@", "pointwork_events".to_owned()),
                ("@SDK_EVENTS@", quoted(&sdk.path().join("events"))),
            ]);
        } else {
            values.extend([
                ("@MOD_EVENTS@", "\nmod events;\n".to_owned()),
                ("@EVENTS@", "events".to_owned()),
                ("@EVENTS_SDK@", "pointwork_guest".to_owned()),
            ]);
        }
        if self == Self::Host {
            let checkout = sdk.checkout()?;
            values.push(("@RUNTIME@", quoted(&checkout.join("host/runtime"))));
            values.push(("@AXUM@", quoted(&checkout.join("adapters/axum"))));
        }
        let filled = |text: &str| {
            values
                .iter()
                .fold(text.to_owned(), |text, (place, value)| text.replace(place, value))
        };
        Ok(files.iter().map(|(path, text)| (*path, filled(text))).collect())
    }

    /// The command to run next.
    pub(super) fn next(self) -> &'static str {
        match self {
            Self::Controller | Self::Channel | Self::Both => "pointwork dev",
            Self::Host => "pointwork build controllers && cargo run",
        }
    }
}

/// A path as a string of TOML. Cargo takes `/` on every system.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.into_owned()
    };
    toml::Value::String(path).to_string()
}
