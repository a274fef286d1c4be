//! The projects in TypeScript and JavaScript that `pointwork new` makes.

use std::path::Path;

use super::sdk::SDK;
use super::tools::TOOLS;
use crate::error::Result;
use crate::toolchains::language::{Draft, Files, Template};

/// Names that npm refuses for a package, or that the project uses.
pub(super) const RESERVED: &[(&[&str], &str)] = &[
    (&["node-modules", "favicon.ico"], "is a name that npm refuses"),
    (
        &["channels", "controllers", "esbuild", "typescript", "componentize-qjs"],
        "is the name of a package that the project uses",
    ),
];

macro_rules! template {
    ($file:literal) => {
        include_str!(concat!("template/", $file, ".in"))
    };
}

/// A file of a project: its path in TypeScript and in JavaScript, where an empty one is left out, and its text in each.
struct File {
    paths: [&'static str; 2],
    texts: [&'static str; 2],
}

/// A file with the same path and text in both.
const fn same(path: &'static str, text: &'static str) -> File {
    both([path; 2], [text; 2])
}

const fn both(paths: [&'static str; 2], texts: [&'static str; 2]) -> File {
    File { paths, texts }
}

const GREETINGS: [&str; 2] = [template!("greetings.ts"), template!("greetings.js")];
const DB: [&str; 2] = [template!("db.ts"), template!("db.js")];
const EVENTS: [&str; 2] = [template!("events.ts"), ""];
const TSCONFIG: [&str; 2] = [template!("tsconfig.json"), ""];

const CONTROLLER_FILES: &[File] = &[
    same("package.json", template!("package.json")),
    both(["tsconfig.json", ""], TSCONFIG),
    same("README.md", template!("controller/README.md")),
    same("pointwork.toml", template!("controller/pointwork.toml")),
    same("schema.sql", template!("schema.sql")),
    both(["src/module.ts", "src/module.js"], [template!("controllers"); 2]),
    both(["src/greetings.ts", "src/greetings.js"], GREETINGS),
    both(["src/events.ts", ""], EVENTS),
    both(
        ["test/greetings.test.ts", "test/greetings.test.js"],
        [template!("controllers.test"); 2],
    ),
    same(".gitignore", template!("gitignore")),
];
const CHANNEL_FILES: &[File] = &[
    same("package.json", template!("package.json")),
    both(["tsconfig.json", ""], TSCONFIG),
    same("README.md", template!("channel/README.md")),
    same("pointwork.toml", template!("channel/pointwork.toml")),
    same("schema.sql", template!("schema.sql")),
    both(["src/module.ts", "src/module.js"], [template!("channels"); 2]),
    both(["src/db.ts", "src/db.js"], DB),
    both(["src/events.ts", ""], EVENTS),
    both(["test/db.test.ts", "test/db.test.js"], [template!("channels.test"); 2]),
    same(".gitignore", template!("gitignore")),
];
const BOTH_FILES: &[File] = &[
    same("package.json", template!("both/package.json")),
    both(["tsconfig.json", ""], TSCONFIG),
    same("README.md", template!("both/README.md")),
    same("pointwork.toml", template!("both/pointwork.toml")),
    same("schema.sql", template!("schema.sql")),
    both(["events.ts", ""], EVENTS),
    same("channels/package.json", template!("both/member.json")),
    both(
        ["channels/src/module.ts", "channels/src/module.js"],
        [template!("channels"); 2],
    ),
    both(["channels/src/db.ts", "channels/src/db.js"], DB),
    both(
        ["channels/test/db.test.ts", "channels/test/db.test.js"],
        [template!("channels.test"); 2],
    ),
    same("controllers/package.json", template!("both/member.json")),
    both(
        ["controllers/src/module.ts", "controllers/src/module.js"],
        [template!("controllers"); 2],
    ),
    both(
        ["controllers/src/greetings.ts", "controllers/src/greetings.js"],
        GREETINGS,
    ),
    both(
        [
            "controllers/test/greetings.test.ts",
            "controllers/test/greetings.test.js",
        ],
        [template!("controllers.test"); 2],
    ),
    same(".gitignore", template!("gitignore")),
];

/// Node runs neither types nor decorators, so that esbuild makes what it runs.
const TEST: &str = "esbuild test/*.test.@EXT@ --bundle --packages=external --platform=node --format=esm \
                    --target=es2022 --sourcemap --log-level=warning --outdir=target/test && \
                    node --enable-source-maps --test target/test/*.test.js";

pub(super) fn files(draft: &Draft<'_>) -> Result<Files> {
    let (files, is_workspace) = match draft.template {
        Template::Controller => (CONTROLLER_FILES, false),
        Template::Channel => (CHANNEL_FILES, false),
        Template::Both => (BOTH_FILES, true),
        Template::Host => return Err(draft.no_host()),
    };
    let is_typed = draft.lang == "ts";
    let tools: Vec<_> = TOOLS
        .iter()
        .map(|(name, version)| format!("    \"{name}\": \"{version}\""))
        .collect();
    let include = ["\"*.ts\", \"*/src\", \"*/test\"", "\"src\", \"test\""][usize::from(!is_workspace)];
    let values = [
        ("@TEST@", TEST.to_owned()),
        ("@TSC@", if is_typed { "tsc && ".to_owned() } else { String::new() }),
        ("@TOOLS@", tools.join(",\n")),
        ("@STORE@", template!("store.toml").trim_end().to_owned()),
        ("@INCLUDE@", include.to_owned()),
        (
            "@EVENTS_ROW@",
            if is_typed {
                events_row(is_workspace)
            } else {
                String::new()
            },
        ),
        (
            "@EVENTS@",
            if is_workspace { "../../events.ts" } else { "./events.ts" }.to_owned(),
        ),
        ("@EXT@", draft.lang.to_owned()),
        ("@NAME@", draft.name.to_owned()),
    ];
    let file = |file: &File| {
        let at = usize::from(!is_typed);
        let path = file.paths[at];
        let mut text = file.texts[at].to_owned();
        let (member, up) = match path.split_once('/') {
            Some(("channels", _)) => (format!("{}-db", draft.name), "../"),
            Some(("controllers", _)) => (draft.name.to_owned(), "../"),
            _ => (draft.name.to_owned(), ""),
        };
        for (place, value) in &values {
            text = text.replace(place, value);
        }
        let text = text
            .replace("@MEMBER@", &member)
            .replace("@SDK@", &dependency(draft.sdk, up));
        (path, text)
    };
    let files = files.iter().map(file);
    Ok(files.filter(|(path, _)| !path.is_empty()).collect())
}

fn events_row(is_workspace: bool) -> String {
    let file = if is_workspace { "events.ts" } else { "src/events.ts" };
    format!(
        "| `{file}` | the events between controllers and channel, with their types: a wrong payload is an error |\n"
    )
}

/// The SDK as a dependency, in JSON. npm takes `/` on every system.
fn dependency(sdk: Option<&Path>, up: &str) -> String {
    let path = match sdk {
        Some(folder) if cfg!(windows) => folder.to_string_lossy().replace('\\', "/"),
        Some(folder) => folder.to_string_lossy().into_owned(),
        None => format!("{up}{}", SDK.vendored),
    };
    serde_json::Value::String(format!("file:{path}")).to_string()
}
