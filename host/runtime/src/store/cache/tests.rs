use std::fs::File;
use std::fs::Permissions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber};

use super::*;

/// Counts warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Warnings {
    fn during<T>(act: impl FnOnce() -> T) -> (T, usize) {
        let warnings = Self::default();
        let value = with_default(warnings.clone(), act);
        (value, warnings.0.load(Ordering::Relaxed))
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::WARN {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn directory() -> (TempDir, PathBuf) {
    let above = tempfile::tempdir().expect("a directory can be made");
    let path = above.path().join("deeper").join("cache");
    (above, path)
}

fn entry(cache: &CacheDirectory, component: &[u8]) -> CacheEntry {
    cache.entry(1, component)
}

fn read(entry: &CacheEntry) -> Option<Vec<u8>> {
    entry.read().map(|artifact| artifact.into_bytes().to_vec())
}

#[test]
fn processes_share_a_cache() {
    let (_above, path) = directory();
    let one = CacheDirectory::open(&path).unwrap();
    let other = CacheDirectory::open(&path).unwrap();
    let (missed, warnings) = Warnings::during(|| read(&entry(&other, b"a")));
    assert_eq!((missed, warnings), (None, 0));
    entry(&one, b"a").write(b"artifact");
    assert_eq!(read(&entry(&other, b"a")).as_deref(), Some(&b"artifact"[..]));
    assert_eq!(read(&entry(&other, b"b")), None);
}

#[test]
fn a_damaged_entry_is_a_miss_with_one_warning_and_is_replaced() {
    let (_above, path) = directory();
    let cache = CacheDirectory::open(&path).unwrap();
    let entry = entry(&cache, b"a");
    for damage in [
        |bytes: &mut Vec<u8>| bytes[60] ^= 1,
        |bytes: &mut Vec<u8>| bytes.truncate(50),
        |bytes: &mut Vec<u8>| bytes.clear(),
    ] {
        entry.write(&[5; 64]);
        let mut bytes = fs::read(&entry.path).unwrap();
        damage(&mut bytes);
        fs::write(&entry.path, bytes).unwrap();
        let (missed, warnings) = Warnings::during(|| read(&entry));
        assert_eq!((missed, warnings), (None, 1));
        entry.write(&[6; 64]);
        assert_eq!(read(&entry), Some(vec![6; 64]));
    }
}

#[test]
fn an_entry_of_another_directory_is_a_miss_with_one_warning() {
    let ((_above, here), (_other, elsewhere)) = (directory(), directory());
    let (cache, foreign) = (
        CacheDirectory::open(&here).unwrap(),
        CacheDirectory::open(&elsewhere).unwrap(),
    );
    let (entry, foreign) = (entry(&cache, b"a"), entry(&foreign, b"a"));
    foreign.write(b"artifact");
    fs::copy(&foreign.path, &entry.path).unwrap();
    assert_eq!(Warnings::during(|| read(&entry)), (None, 1));
}

#[test]
fn the_entry_that_was_not_used_for_the_longest_time_is_removed_first() {
    let (_above, path) = directory();
    let room_for_two = 2 * (32 + 1000);
    let cache = CacheDirectory::open(&path).unwrap().limit(room_for_two);
    let entries = [b"a", b"b", b"c"].map(|component| entry(&cache, component));
    for (entry, day) in entries[..2].iter().zip([1, 2]) {
        entry.write(&[0; 1000]);
        let file = File::options().write(true).open(&entry.path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + day * Duration::from_secs(86_400))
            .unwrap();
    }
    assert!(read(&entries[0]).is_some(), "used just now");
    entries[2].write(&[0; 1000]);
    let left = entries.each_ref().map(|entry| read(entry).is_some());
    assert_eq!(left, [true, false, true]);
}

#[test]
fn an_artifact_over_the_limit_is_not_cached() {
    let (_above, path) = directory();
    let cache = CacheDirectory::open(&path).unwrap().limit(1000);
    let ((), warnings) = Warnings::during(|| entry(&cache, b"a").write(&[0; 1000]));
    assert_eq!((read(&entry(&cache, b"a")), warnings), (None, 1));
}

#[test]
fn a_cache_that_cannot_be_written_warns() {
    let (_above, path) = directory();
    let cache = CacheDirectory::open(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    let ((), warnings) = Warnings::during(|| entry(&cache, b"a").write(b"artifact"));
    assert_eq!((read(&entry(&cache, b"a")), warnings), (None, 1));
}

#[test]
fn temporary_files_of_ended_processes_are_removed_and_those_that_are_written_stay() {
    let (_above, path) = directory();
    CacheDirectory::open(&path).unwrap();
    let (torn, written) = (path.join(".tmp-torn"), path.join(".tmp-written"));
    for file in [&torn, &written] {
        fs::write(file, "torn").unwrap();
    }
    let writer = File::open(&written).unwrap();
    writer.lock().unwrap();
    CacheDirectory::open(&path).unwrap();
    assert_eq!((torn.exists(), written.exists()), (false, true));
    drop(writer);
    CacheDirectory::open(&path).unwrap();
    assert!(!written.exists());
}

#[test]
fn a_damaged_secret_makes_room_for_a_new_one() {
    let (_above, path) = directory();
    CacheDirectory::open(&path).unwrap();
    for damaged in [&b"short"[..], &[7; 33]] {
        fs::write(path.join(SECRET), damaged).unwrap();
        CacheDirectory::open(&path).unwrap();
        let made = fs::read(path.join(SECRET)).unwrap();
        assert_eq!(made.len(), SECRET_BYTES);
        assert!(!damaged.starts_with(&made));
        CacheDirectory::open(&path).unwrap();
        assert_eq!(fs::read(path.join(SECRET)).unwrap(), made);
    }
}

#[test]
fn debug_does_not_show_the_secret() {
    let (_above, path) = directory();
    let cache = CacheDirectory::open(&path).unwrap();
    let shown = format!("{cache:?}");
    assert!(!shown.contains("secret") && !shown.contains("Secret"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_directory_or_secret_that_is_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let (_above, path) = directory();
    CacheDirectory::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join(SECRET))), (0o700, 0o600));
    for (file, open, closed) in [(path.join(SECRET), 0o640, 0o600), (path.clone(), 0o750, 0o700)] {
        fs::set_permissions(&file, Permissions::from_mode(open)).unwrap();
        let error = CacheDirectory::open(&path).unwrap_err();
        let expected = format!("is open to others: its mode is {open:04o}, expected {closed:04o}");
        assert!(error.to_string().ends_with(&expected), "{error}");
        fs::set_permissions(&file, Permissions::from_mode(closed)).unwrap();
        CacheDirectory::open(&path).unwrap();
    }
}
