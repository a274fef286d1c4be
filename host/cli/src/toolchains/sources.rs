//! The sources of a build, in a list with the form of a rule for `make`, as cargo writes it beside the file of the compiler.

use std::fs;
use std::path::{Path, PathBuf};

/// The files that the build of the file `built` read. Empty if no list lies beside that file.
pub(super) fn read(built: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    list.lines().flat_map(parse).collect()
}

/// The list of a component that was built from these files. It lies beside the component, with the extension `d`.
pub(crate) fn rule(component: &Path, sources: &[PathBuf]) -> String {
    let escaped = |path: &Path| path.display().to_string().replace(' ', "\\ ");
    let sources = sources.iter().map(|source| format!(" {}", escaped(source)));
    format!("{}:{}\n", escaped(component), sources.collect::<String>())
}

/// A source that changed after the component was built: one that its build read, by the list beside it, or one of its `own`
/// files and folders, in which a file may be new.
pub(super) fn newer(component: &Path, own: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let built = changed(component).ok()?;
    let mut paths = read(component);
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
        let (component, source) = (at("out/shop.wasm"), at("shop/src/deep/a.html"));
        let other = at("my shared/src/lib.rs");
        for file in [&source, &other, &component, &at("shop/tests/a.rs")] {
            fs::create_dir_all(file.parent().expect("a folder")).expect("created");
            fs::write(file, "").expect("written");
        }
        fs::remove_file(&component).expect("removed");
        assert_eq!(newer(&component, [at("shop/src")]), None, "there is no component");
        assert_eq!(read(&component), Vec::<PathBuf>::new(), "there is no list");
        fs::write(
            component.with_extension("d"),
            rule(&component, std::slice::from_ref(&other)),
        )
        .expect("written");
        fs::write(&component, "").expect("written");
        let now = SystemTime::now();
        let touch = |file: &Path, seconds| {
            let touched = fs::File::options().append(true).open(file).expect("it is there");
            let set = touched.set_modified(now + Duration::from_secs(seconds));
            set.expect("its time is set");
        };
        touch(&component, 60);
        assert_eq!(newer(&component, [at("shop/src")]), None);
        touch(&other, 61);
        assert_eq!(
            newer(&component, [at("shop/src")]),
            Some(other.clone()),
            "a path dependency"
        );
        touch(&component, 62);
        touch(&source, 63);
        assert_eq!(newer(&component, [at("shop/src")]), Some(source.clone()));
        assert_eq!(newer(&component, [at("none")]), None);
    }
}
