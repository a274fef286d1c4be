//! The sources of a build, by the list that cargo writes for `make` beside the file of the compiler.

use std::path::{Path, PathBuf};

/// The files that the build of this file read; none if cargo wrote no list.
pub(super) fn list(built: &Path) -> Vec<PathBuf> {
    let list = std::fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    list.lines().flat_map(parse).collect()
}

/// The dependencies of one rule, `target: dependencies`; a space within a path is escaped.
fn parse(rule: &str) -> Vec<PathBuf> {
    let Some((_, dependencies)) = rule.split_once(": ") else {
        return Vec::new();
    };
    let escaped = dependencies.replace("\\ ", "\0");
    let paths = escaped.split_whitespace();
    paths.map(|path| PathBuf::from(path.replace('\0', " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_within_a_path_are_escaped() {
        let paths = parse("/t/shop.wasm: /my\\ shop/src/lib.rs /my\\ shop/src/a.rs");
        assert_eq!(paths, ["/my shop/src/lib.rs", "/my shop/src/a.rs"].map(PathBuf::from));
        assert_eq!(parse("/t/shop.wasm:"), Vec::<PathBuf>::new());
        assert_eq!(parse(""), Vec::<PathBuf>::new());
    }
}
