//! The projects in Python that `pointwork new` makes.

use super::sdk::SDK;
use crate::error::Result;
use crate::toolchains::language::{Draft, Files, Template};

/// Names that the project uses.
pub(super) const RESERVED: &[(&[&str], &str)] = &[(
    &["attrs", "cattrs", "componentize-py", "pytest"],
    "is the name of a package that the project uses",
)];

macro_rules! template {
    ($file:literal) => {
        include_str!(concat!("template/", $file, ".in"))
    };
}

const SCHEMA: &str = include_str!("../ts/template/schema.sql.in");
const STORE: &str = include_str!("../ts/template/store.toml.in");

/// The files of every project.
const FILES: &[(&str, &str)] = &[
    ("requirements.txt", template!("requirements.txt")),
    ("schema.sql", SCHEMA),
    ("src/events.py", template!("events.py")),
    (".gitignore", template!("gitignore")),
];
const CONTROLLER_FILES: &[(&str, &str)] = &[
    ("pyproject.toml", template!("pyproject.toml")),
    ("README.md", template!("controller/README.md")),
    ("pointwork.toml", template!("controller/pointwork.toml")),
    ("src/app.py", template!("controllers")),
    ("src/greetings.py", template!("greetings.py")),
    ("test/test_greetings.py", template!("controllers.test")),
];
const CHANNEL_FILES: &[(&str, &str)] = &[
    ("pyproject.toml", template!("pyproject.toml")),
    ("README.md", template!("channel/README.md")),
    ("pointwork.toml", template!("channel/pointwork.toml")),
    ("src/app.py", template!("channels")),
    ("src/db.py", template!("db.py")),
    ("test/test_db.py", template!("channels.test")),
];
const BOTH_FILES: &[(&str, &str)] = &[
    ("pyproject.toml", template!("both/pyproject.toml")),
    ("README.md", template!("both/README.md")),
    ("pointwork.toml", template!("both/pointwork.toml")),
    ("src/channels/pyproject.toml", template!("both/member.toml")),
    ("src/channels/__init__.py", ""),
    ("src/channels/app.py", template!("channels")),
    ("src/channels/db.py", template!("db.py")),
    ("src/controllers/pyproject.toml", template!("both/member.toml")),
    ("src/controllers/__init__.py", ""),
    ("src/controllers/app.py", template!("controllers")),
    ("src/controllers/greetings.py", template!("greetings.py")),
    ("test/test_db.py", template!("channels.test")),
    ("test/test_greetings.py", template!("controllers.test")),
];

pub(super) fn files(draft: &Draft<'_>) -> Result<Files> {
    // In a package an import of its own modules begins with a dot.
    let (files, [here, channels, controllers]) = match draft.template {
        Template::Controller => (CONTROLLER_FILES, [""; 3]),
        Template::Channel => (CHANNEL_FILES, [""; 3]),
        Template::Both => (BOTH_FILES, [".", "channels.", "controllers."]),
        Template::Host => return Err(draft.no_host()),
    };
    let sdk = match draft.sdk {
        Some(folder) if cfg!(windows) => folder.to_string_lossy().replace('\\', "/"),
        Some(folder) => folder.to_string_lossy().into_owned(),
        None => format!("./{}", SDK.vendored),
    };
    let file = |(path, text): &(&'static str, &'static str)| {
        let member = match path.contains("/channels/") {
            true => format!("{}-db", draft.name),
            false => draft.name.to_owned(),
        };
        let values = [
            ("@STORE@", STORE.trim_end()),
            ("@HERE@", here),
            ("@CHANNELS@", channels),
            ("@CONTROLLERS@", controllers),
            ("@SDK@", &sdk),
            ("@MEMBER@", &member),
            ("@NAME@", draft.name),
        ];
        let fill = |text: String, (place, value): &(&str, &str)| text.replace(place, value);
        (*path, values.iter().fold((*text).to_owned(), fill))
    };
    Ok(files.iter().chain(FILES).map(file).collect())
}
