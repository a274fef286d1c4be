//! The projects in Rust that `pointwork new` makes.

use std::path::Path;

use super::sdk::SDK;
use crate::error::{Error, Result};
use crate::toolchains::language::{Draft, Files, Template};

/// Texts that have a place in several templates.
const CONTROLLERS: &str = include_str!("template/controllers.rs.in");
const CHANNEL: &str = include_str!("template/channel.rs.in");
const EVENTS: &str = include_str!("template/events.rs.in");
const IGNORED: &str = include_str!("template/gitignore.in");

const CONTROLLER_FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("template/controller/Cargo.toml.in")),
    ("README.md", include_str!("template/controller/README.md.in")),
    ("pointwork.toml", include_str!("template/controller/pointwork.toml.in")),
    ("schema.sql", include_str!("template/controller/schema.sql.in")),
    ("src/lib.rs", CONTROLLERS),
    ("src/events.rs", EVENTS),
    (".gitignore", IGNORED),
];
const CHANNEL_FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("template/channel/Cargo.toml.in")),
    ("README.md", include_str!("template/channel/README.md.in")),
    ("pointwork.toml", include_str!("template/channel/pointwork.toml.in")),
    ("src/lib.rs", CHANNEL),
    ("src/events.rs", EVENTS),
    (".gitignore", IGNORED),
];
const BOTH_FILES: &[(&str, &str)] = &[
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
const HOST_FILES: &[(&str, &str)] = &[
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

pub(super) fn files(draft: &Draft<'_>) -> Result<Files> {
    let Draft {
        template, name, sdk, ..
    } = *draft;
    let (files, shares_events) = match template {
        Template::Controller => (CONTROLLER_FILES, false),
        Template::Channel => (CHANNEL_FILES, false),
        Template::Both => (BOTH_FILES, true),
        Template::Host => (HOST_FILES, true),
    };
    let path = sdk.unwrap_or(Path::new(SDK.vendored));
    let mut values = vec![("@NAME@", name.to_owned()), ("@SDK@", quoted(path))];
    if shares_events {
        values.extend([
            ("@MOD_EVENTS@", String::new()),
            ("@EVENTS@", format!("{}_events", name.replace('-', "_"))),
            ("@EVENTS_SDK@", "pointwork_events".to_owned()),
            ("@SDK_EVENTS@", quoted(&path.join("events"))),
        ]);
    } else {
        values.extend([
            ("@MOD_EVENTS@", "\nmod events;\n".to_owned()),
            ("@EVENTS@", "events".to_owned()),
            ("@EVENTS_SDK@", "pointwork_guest".to_owned()),
        ]);
    }
    if template == Template::Host {
        let checkout = checkout(sdk)?;
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

/// The root of the checkout that contains the SDK, where the crates of the host are.
fn checkout(sdk: Option<&Path>) -> Result<&Path> {
    const HINT: &str = "until there is a release, the project uses the crates of a clone:\n\
                        git clone https://github.com/pointwork/pointwork\n\
                        pointwork new NAME --template host --sdk-path pointwork/guest/rust";
    let folder = sdk.ok_or_else(|| {
        Error::failed("the template `host` needs `--sdk-path`, the folder `guest/rust` in a clone of Pointwork")
            .with_hint(HINT)
    })?;
    let root = folder.ancestors().nth(2);
    root.filter(|root| root.join("host/runtime/Cargo.toml").is_file())
        .ok_or_else(|| {
            Error::failed(format!("`{}` is not in a checkout of Pointwork", folder.display())).with_hint(HINT)
        })
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
