//! One file: whether it changed, and whether it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use file_id::{FileId, get_file_id};
use pointwork_core::read_file;

pub(super) struct WatchedFile {
    path: PathBuf,
    /// The largest size that is read.
    largest: u64,
    /// The stamp of the content that was read last; `None` before the first read.
    read: Option<Stamp>,
    /// The stamp of the last look, if it is another one.
    seen: Option<Stamp>,
    /// The SHA-256 of the content that was read last, in hex.
    digest: String,
    missing: bool,
}

/// A stamp tells two contents of a file apart without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// A file that was renamed to this path may have the length and the time of the one before.
    id: FileId,
}

/// The result of a look at a file.
#[derive(Debug)]
pub(super) enum Look {
    /// The content is the same.
    Unchanged,
    /// The file changed and may still be written; it needs another look.
    Settling,
    /// The file cannot be read. Each loss is reported once.
    Lost(io::Error),
    /// The whole new content.
    Changed(Vec<u8>),
}

impl WatchedFile {
    /// A file whose last content had the given digest.
    pub(super) fn new(path: PathBuf, digest: String, largest: u64) -> Self {
        Self {
            path,
            largest,
            read: None,
            seen: None,
            digest,
            missing: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file if it changed and had the same stamp at the last look. It blocks.
    pub(super) fn look(&mut self) -> Look {
        match self.try_look() {
            Ok(look) => {
                self.missing = false;
                look
            }
            Err(error) => {
                self.seen = None;
                if std::mem::replace(&mut self.missing, true) {
                    Look::Unchanged
                } else {
                    Look::Lost(error)
                }
            }
        }
    }

    fn try_look(&mut self) -> io::Result<Look> {
        let stamp = Stamp::read(&self.path)?;
        if self.read == Some(stamp) {
            self.seen = None;
            return Ok(Look::Unchanged);
        }
        if self.seen.replace(stamp) != Some(stamp) {
            return Ok(Look::Settling);
        }
        let content = read_file(&self.path, self.largest)?;
        let after = Stamp::read(&self.path)?;
        if after != stamp || content.len() as u64 != stamp.length {
            self.seen = Some(after);
            return Ok(Look::Settling);
        }
        self.read = Some(stamp);
        self.seen = None;
        let digest = pointwork::digest(&content);
        if digest == self.digest {
            return Ok(Look::Unchanged);
        }
        self.digest = digest;
        Ok(Look::Changed(content))
    }
}

impl Stamp {
    fn read(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            id: get_file_id(path)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A file that was loaded with the content `one`.
    fn loaded() -> (TempDir, WatchedFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.wasm");
        fs::write(&path, "one").expect("written");
        let mut file = WatchedFile::new(path, pointwork::digest(b"one"), 100);
        assert!(matches!(file.look(), Look::Settling));
        assert!(matches!(file.look(), Look::Unchanged));
        (folder, file)
    }

    fn changed(found: Look) -> String {
        match found {
            Look::Changed(content) => String::from_utf8(content).expect("text"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changed_file_is_read_when_it_was_the_same_twice() {
        let (_folder, mut file) = loaded();
        fs::write(file.path(), "half").expect("written");
        assert!(matches!(file.look(), Look::Settling));
        fs::write(file.path(), "half and half").expect("written");
        assert!(matches!(file.look(), Look::Settling));
        assert_eq!(changed(file.look()), "half and half");
        assert!(matches!(file.look(), Look::Unchanged));
    }

    #[test]
    fn file_that_was_renamed_into_its_place_is_another() {
        let (folder, mut file) = loaded();
        let new = folder.path().join("new");
        fs::write(&new, "two").expect("written");
        fs::rename(new, file.path()).expect("renamed");
        assert!(matches!(file.look(), Look::Settling));
        assert_eq!(changed(file.look()), "two");
    }

    /// The way of Kubernetes: the file is a link through a folder that is itself a link, which is replaced.
    #[cfg(unix)]
    #[test]
    fn file_behind_a_link_that_was_replaced_is_another() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for version in ["one", "two"] {
            fs::create_dir(at(version)).expect("created");
            fs::write(at(version).join("shop.wasm"), version).expect("written");
        }
        symlink("one", at("data")).expect("linked");
        symlink("data/shop.wasm", at("shop.wasm")).expect("linked");
        let mut file = WatchedFile::new(at("shop.wasm"), pointwork::digest(b"one"), 100);
        assert!(matches!(file.look(), Look::Settling));
        assert!(matches!(file.look(), Look::Unchanged));
        symlink("two", at("new")).expect("linked");
        fs::rename(at("new"), at("data")).expect("renamed");
        assert!(matches!(file.look(), Look::Settling));
        assert_eq!(changed(file.look()), "two");
    }

    #[test]
    fn file_that_was_touched_has_not_changed() {
        let (_folder, mut file) = loaded();
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let open = fs::File::options().write(true).open(file.path()).expect("it exists");
        open.set_modified(later).expect("set");
        assert!(matches!(file.look(), Look::Settling));
        assert!(matches!(file.look(), Look::Unchanged));
    }

    #[test]
    fn file_over_the_limit_counts_as_lost() {
        let (_folder, mut file) = loaded();
        fs::write(file.path(), "x".repeat(101)).expect("written");
        assert!(matches!(file.look(), Look::Settling));
        let lost = file.look();
        assert!(
            matches!(&lost, Look::Lost(error) if error.to_string() == "it has 101 bytes, expected at most 100"),
            "{lost:?}"
        );
        fs::write(file.path(), "two").expect("written");
        assert!(matches!(file.look(), Look::Settling));
        assert_eq!(changed(file.look()), "two");
    }

    #[test]
    fn lost_file_is_reported_once_and_read_when_it_is_back() {
        let (_folder, mut file) = loaded();
        fs::remove_file(file.path()).expect("removed");
        assert!(matches!(file.look(), Look::Lost(_)));
        assert!(matches!(file.look(), Look::Unchanged));
        fs::write(file.path(), "two").expect("written");
        assert!(matches!(file.look(), Look::Settling));
        assert_eq!(changed(file.look()), "two");
        fs::remove_file(file.path()).expect("removed");
        assert!(matches!(file.look(), Look::Lost(_)), "once each time");
    }
}
