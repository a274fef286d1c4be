//! The sources of a build, by the list that cargo writes for `make` beside the file of the compiler.

use std::fs;
use std::path::{Path, PathBuf};

use super::write;
use crate::error::Result;

/// The files that the build of the file `built` read. Empty if no list lies beside that file.
pub(super) fn list(built: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    list.lines().flat_map(parse).collect()
}

/// Keeps the list for this file beside the component that is made of it.
pub(super) fn keep(built: &Path, component: &Path) -> Result<()> {
    match fs::read(built.with_extension("d")) {
        Ok(list) => write::atomically(&component.with_extension("d"), &list),
        Err(_) => Ok(()),
    }
}

/// A source that changed after the component was built: one that its build read, by the list beside it, or one of the package,
/// which may be new: its manifest, its build script or a file below `src`.
pub(crate) fn newer(package: &Path, component: &Path) -> Option<PathBuf> {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let built = changed(component).ok()?;
    let is_manifest = package.file_name().is_some_and(|name| name == "Cargo.toml");
    let directory = if is_manifest { package.parent()? } else { package };
    let own = ["Cargo.toml", "build.rs", "src"].map(|name| directory.join(name));
    let mut paths = list(component);
    paths.extend(own);
    while let Some(path) = paths.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            paths.extend(entries.flatten().map(|entry| entry.path()));
            continue;
        }
        if changed(&path).is_ok_and(|time| time > built) {
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
    use std::time::{Duration, SystemTime};

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
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let (package, component) = (at("shop"), at("out/shop.wasm"));
        let (manifest, source) = (at("shop/Cargo.toml"), at("shop/src/deep/a.html"));
        let (other, built) = (at("my shared/src/lib.rs"), at("target/shop.wasm"));
        for file in [&manifest, &source, &other, &built, &at("shop/tests/a.rs")] {
            fs::create_dir_all(file.parent().expect("a folder")).expect("created");
            fs::write(file, "").expect("written");
        }
        keep(&built, &component).expect("there is no list");
        let escaped = other.display().to_string().replace(' ', "\\ ");
        fs::write(built.with_extension("d"), format!("{}: {escaped}\n", built.display())).expect("written");
        assert_eq!(newer(&package, &component), None, "there is no component");
        keep(&built, &component).expect("kept");
        fs::write(&component, "").expect("written");
        let now = SystemTime::now();
        let touch = |file: &Path, seconds| {
            let touched = fs::File::options().append(true).open(file).expect("it is there");
            let set = touched.set_modified(now + Duration::from_secs(seconds));
            set.expect("its time is set");
        };
        touch(&component, 60);
        assert_eq!(newer(&package, &component), None);
        touch(&other, 61);
        assert_eq!(newer(&package, &component), Some(other.clone()), "a path dependency");
        touch(&component, 62);
        touch(&source, 63);
        assert_eq!(newer(&package, &component), Some(source.clone()));
        assert_eq!(newer(&manifest, &component), Some(source));
        assert_eq!(newer(&at("none"), &component), None);
    }
}
