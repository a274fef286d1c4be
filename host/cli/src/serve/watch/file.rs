//! One file: whether it changed, and whether it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A component's file as it was seen last.
pub(super) struct File {
    path: PathBuf,
    /// What it was when its content was read last; `None` before the first time.
    read: Option<Stamp>,
    /// What it was at the last look, if that was something else.
    seen: Option<Stamp>,
    /// SHA-256 of its content when that was read last, in hex.
    digest: String,
    gone: bool,
}

/// What tells two contents of a file apart without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Another file that was renamed to this path may have the length and the time of the one before.
    inode: u64,
}

/// What a look at a file found.
#[derive(Debug)]
pub(super) enum Found {
    /// What was there before.
    Nothing,
    /// Something else, which may still be written: it is to be looked at again.
    Settling,
    /// It is not there any more, or cannot be read; told once.
    Gone(io::Error),
    /// Another content, whole, and its SHA-256 in hex.
    Changed(Vec<u8>, String),
}

impl File {
    /// A file whose content had that digest when it was read last.
    pub(super) fn new(path: PathBuf, digest: String) -> Self {
        Self {
            path,
            read: None,
            seen: None,
            digest,
            gone: false,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at the file, and reads it if it changed and was the same at the look before. It blocks for as long as that
    /// takes.
    pub(super) fn look(&mut self) -> Found {
        match self.try_look() {
            Ok(found) => {
                self.gone = false;
                found
            }
            Err(error) => {
                self.seen = None;
                if std::mem::replace(&mut self.gone, true) {
                    Found::Nothing
                } else {
                    Found::Gone(error)
                }
            }
        }
    }

    fn try_look(&mut self) -> io::Result<Found> {
        let stamp = Stamp::of(&self.path)?;
        if self.read == Some(stamp) {
            self.seen = None;
            return Ok(Found::Nothing);
        }
        if self.seen.replace(stamp) != Some(stamp) {
            return Ok(Found::Settling);
        }
        let content = fs::read(&self.path)?;
        let after = Stamp::of(&self.path)?;
        if after != stamp || content.len() as u64 != stamp.length {
            self.seen = Some(after);
            return Ok(Found::Settling);
        }
        self.read = Some(stamp);
        self.seen = None;
        let digest = pointwork::digest(&content);
        if digest == self.digest {
            return Ok(Found::Nothing);
        }
        self.digest.clone_from(&digest);
        Ok(Found::Changed(content, digest))
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(&metadata),
        })
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A file that was loaded with the content `one`, and looked at until nothing was new.
    fn loaded() -> (TempDir, File) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.wasm");
        fs::write(&path, "one").expect("written");
        let mut file = File::new(path, pointwork::digest(b"one"));
        assert!(matches!(file.look(), Found::Settling));
        assert!(matches!(file.look(), Found::Nothing));
        (folder, file)
    }

    fn changed(found: Found) -> String {
        match found {
            Found::Changed(content, digest) => {
                assert_eq!(digest, pointwork::digest(&content));
                String::from_utf8(content).expect("text")
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changed_file_is_read_when_it_was_the_same_twice() {
        let (_folder, mut file) = loaded();
        fs::write(file.path(), "half").expect("written");
        assert!(matches!(file.look(), Found::Settling));
        fs::write(file.path(), "half and half").expect("written");
        assert!(matches!(file.look(), Found::Settling));
        assert_eq!(changed(file.look()), "half and half");
        assert!(matches!(file.look(), Found::Nothing));
    }

    #[test]
    fn file_that_was_renamed_into_its_place_is_another() {
        let (folder, mut file) = loaded();
        let new = folder.path().join("new");
        fs::write(&new, "two").expect("written");
        fs::rename(new, file.path()).expect("renamed");
        assert!(matches!(file.look(), Found::Settling));
        assert_eq!(changed(file.look()), "two");
    }

    #[test]
    fn file_that_was_touched_has_not_changed() {
        let (_folder, mut file) = loaded();
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let open = fs::File::options().write(true).open(file.path()).expect("it is there");
        open.set_modified(later).expect("set");
        assert!(matches!(file.look(), Found::Settling));
        assert!(matches!(file.look(), Found::Nothing));
    }

    #[test]
    fn file_that_goes_away_is_told_of_once_and_read_when_it_is_back() {
        let (_folder, mut file) = loaded();
        fs::remove_file(file.path()).expect("removed");
        assert!(matches!(file.look(), Found::Gone(_)));
        assert!(matches!(file.look(), Found::Nothing));
        fs::write(file.path(), "two").expect("written");
        assert!(matches!(file.look(), Found::Settling));
        assert_eq!(changed(file.look()), "two");
        fs::remove_file(file.path()).expect("removed");
        assert!(matches!(file.look(), Found::Gone(_)), "once each time");
    }
}
