//! The folders of files, watched for changes of the files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;

use crate::watch::Directories;

/// Wakes `changed` when one of `files`, or a folder above it, changes in a folder that is watched. The paths are absolute.
/// `None` on a system that cannot watch.
pub(super) fn waking(files: Vec<PathBuf>, changed: Arc<Notify>) -> Option<Directories> {
    let directories = Directories::new(move |event| {
        if event.is_none_or(|event| touches(&event.paths, &files)) {
            changed.notify_one();
        }
    });
    directories
        .inspect_err(|error| tracing::warn!("files cannot be watched: {error}"))
        .ok()
}

/// Whether one of the paths is one of the files, or a folder above one.
fn touches(paths: &[PathBuf], files: &[PathBuf]) -> bool {
    paths.iter().any(|path| files.iter().any(|file| file.starts_with(path)))
}

/// The folder of a file, or the nearest existing folder above it.
pub(super) fn nearest(file: &Path) -> Option<PathBuf> {
    let folders = file.ancestors().skip(1);
    folders.map(Path::to_owned).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_of_the_folder_wake_nobody() {
        let files = [PathBuf::from("/t/pointwork/shop.wasm")];
        for (path, concerned) in [
            ("/t/pointwork/shop.wasm", true),
            ("/t/pointwork", true),
            ("/t", true),
            ("/t/pointwork/other.wasm", false),
            ("/t/pointwork/shop.wasm.tmp", false),
        ] {
            assert_eq!(touches(&[path.into()], &files), concerned, "{path}");
        }
    }

    #[tokio::test]
    async fn file_in_a_folder_that_is_created_later_is_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it exists");
        let file = root.join("target/pointwork/shop.wasm");
        let changed = Arc::new(Notify::new());
        let mut folders = waking(vec![file.clone()], changed.clone()).expect("the system can watch");
        folders.watch(nearest(&file));
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("created");
        changed.notified().await;
        folders.watch(nearest(&file));
        std::fs::write(&file, "one").expect("written");
        changed.notified().await;
    }
}
