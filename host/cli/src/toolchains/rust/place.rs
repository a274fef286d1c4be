//! Names and directories that cargo and the compiler refuse for a project.

use std::path::Path;

use glob::{MatchOptions, Pattern};

use crate::error::{Error, Result};

pub(super) const RESERVED: &[(&[&str], &str)] = &[
    (KEYWORDS, "is a keyword of Rust"),
    (CRATES, "is the name of a crate that the project uses"),
    (BUILD_FOLDERS, "is a folder in the target directory of cargo"),
];
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
const CRATES: &[&str] = &[
    "alloc",
    "anyhow",
    "axum",
    "core",
    "pointwork",
    "proc-macro",
    "serde",
    "serde-json",
    "std",
    "test",
    "tokio",
    "tower",
];
const BUILD_FOLDERS: &[&str] = &["build", "deps", "examples", "incremental"];

/// Checks that no workspace around the directory takes it for a member: a project is a workspace of its own, and cargo
/// allows none within another.
pub(super) fn check(directory: &Path) -> Result<()> {
    for folder in directory.ancestors().skip(1) {
        let manifest = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).ok();
        let table = text.and_then(|text| text.parse::<toml::Table>().ok());
        let Some(workspace) = table.as_ref().and_then(|table| table.get("workspace")) else {
            continue;
        };
        // Cargo searches no further than the next workspace.
        let Ok(relative) = directory.strip_prefix(folder) else {
            break;
        };
        let has = |key: &str, matches: &dyn Fn(&str) -> bool| {
            let list = workspace.get(key).and_then(toml::Value::as_array);
            list.is_some_and(|list| list.iter().filter_map(toml::Value::as_str).any(matches))
        };
        let is_member = has("members", &|member| {
            Pattern::new(member).is_ok_and(|pattern| pattern.matches_path_with(relative, LIKE_CARGO))
        });
        if is_member && !has("exclude", &|path| relative.starts_with(path)) {
            let line = toml::Value::String(relative.display().to_string());
            let message = format!(
                "`{}` would be a member of the workspace `{}`",
                relative.display(),
                manifest.display()
            );
            return Err(Error::failed(message)
                .with_source("a project is a workspace of its own")
                .with_hint(format!(
                    "choose another directory with `--path DIR`, or exclude this one in the workspace:\n\n\
                 [workspace]\nexclude = [{line}]"
                )));
        }
        break;
    }
    Ok(())
}

/// `*` is one part of a path.
const LIKE_CARGO: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};
