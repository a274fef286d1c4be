//! The sources of a build, by the list that cargo writes for `make` beside the file of the compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The files that the build of this file read; none if cargo wrote no list.
pub(super) fn list(built: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    list.lines().flat_map(parse).collect()
}

/// A source of the package that changed after that time: its manifest, its build script or a file below `src`. Other
/// sources, such as those of path dependencies, are known to cargo alone.
pub(crate) fn newer(package: &Path, built: SystemTime) -> Option<PathBuf> {
    let is_manifest = package.file_name().is_some_and(|name| name == "Cargo.toml");
    let directory = if is_manifest { package.parent()? } else { package };
    let mut paths: Vec<_> = ["Cargo.toml", "build.rs", "src"]
        .map(|name| directory.join(name))
        .into();
    while let Some(path) = paths.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            paths.extend(entries.flatten().map(|entry| entry.path()));
            continue;
        }
        let changed = fs::metadata(&path).and_then(|file| file.modified());
        if changed.is_ok_and(|time| time > built) {
            return Some(path);
        }
    }
    None
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn spaces_within_a_path_are_escaped() {
        let paths = parse("/t/shop.wasm: /my\\ shop/src/lib.rs /my\\ shop/src/a.rs");
        assert_eq!(paths, ["/my shop/src/lib.rs", "/my shop/src/a.rs"].map(PathBuf::from));
        assert_eq!(parse("/t/shop.wasm:"), Vec::<PathBuf>::new());
        assert_eq!(parse(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_source_that_changed_after_the_build_is_found() {
        let package = tempfile::tempdir().expect("a folder");
        let package = package.path();
        let (manifest, source) = (package.join("Cargo.toml"), package.join("src/deep/a.html"));
        fs::create_dir_all(package.join("src/deep")).expect("created");
        fs::create_dir_all(package.join("tests")).expect("created");
        for file in [&manifest, &source, &package.join("tests/a.rs")] {
            fs::write(file, "").expect("written");
        }
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(newer(package, later), None);
        let touched = fs::File::options().append(true).open(&source).expect("it is there");
        touched
            .set_modified(later + Duration::from_secs(1))
            .expect("its time is set");
        assert_eq!(newer(package, later), Some(source.clone()));
        assert_eq!(newer(&manifest, later), Some(source));
        assert_eq!(newer(&package.join("none"), later), None);
    }
}
