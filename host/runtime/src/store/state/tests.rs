use crate::digest;
use tempfile::TempDir;

use super::*;
use crate::call_counts::CallCounts;

fn directory() -> (TempDir, PathBuf) {
    let above = tempfile::tempdir().expect("a directory can be made");
    let path = above.path().join("state");
    (above, path)
}

fn open(path: &Path) -> StateDirectory {
    StateDirectory::open(path).expect("the directory can be opened")
}

fn version(current: &[u8], previous: Option<&[u8]>) -> RecordedVersions {
    RecordedVersions {
        current: Some(digest(current)),
        previous: previous.map(digest),
        base: Some(digest(b"base")),
        ..RecordedVersions::default()
    }
}

/// Makes a component current.
fn install(state: &StateDirectory, module: &str, current: &[u8], previous: Option<&[u8]>) {
    let _pinned = state.pin(&digest(current), current).unwrap();
    state.commit(module, version(current, previous)).unwrap();
}

fn components(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path.join(COMPONENTS)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn set(components: &[&[u8]]) -> BTreeSet<String> {
    components.iter().map(|component| digest(component)).collect()
}

#[test]
fn committed_versions_survive_a_restart() {
    let (_above, path) = directory();
    let state = open(&path);
    assert!(state.names().is_empty());
    install(&state, "one", b"first", None);
    install(&state, "one", b"second", Some(b"first"));
    install(&state, "two", b"third", None);
    drop(state);
    let state = open(&path);
    assert_eq!(state.names(), ["one", "two"]);
    assert_eq!(state.versions("one"), Some(version(b"second", Some(b"first"))));
    assert_eq!(state.versions("three"), None);
    assert_eq!(state.component(&digest(b"second"), 1024).unwrap(), b"second");
}

#[test]
fn a_removed_module_stays_known_until_its_record_is_empty() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let removed = RecordedVersions {
        base: Some(digest(b"base")),
        ..RecordedVersions::default()
    };
    state.commit("one", removed.clone()).unwrap();
    drop(state);
    let state = open(&path);
    assert_eq!(state.versions("one"), Some(removed));
    assert!(components(&path).is_empty());
    state.commit("one", RecordedVersions::default()).unwrap();
    assert!(state.names().is_empty());
}

#[test]
fn components_that_no_version_names_are_removed_at_the_next_commit() {
    let (_above, path) = directory();
    let state = open(&path);
    for (current, previous) in [(b"1", None), (b"2", Some(b"1")), (b"3", Some(b"2"))] {
        install(&state, "one", current, previous.map(|previous| &previous[..]));
    }
    assert_eq!(components(&path), set(&[b"2", b"3"]));
    install(&state, "two", b"3", None);
    install(&state, "one", b"4", Some(b"2"));
    assert_eq!(
        components(&path),
        set(&[b"2", b"3", b"4"]),
        "another module has it as well"
    );
}

#[test]
fn a_pinned_component_survives_the_commits_of_others() {
    let (_above, path) = directory();
    let state = open(&path);
    let first = state.pin(&digest(b"new"), b"new").unwrap();
    let second = state.pin(&digest(b"new"), b"new").unwrap();
    drop(first);
    install(&state, "other", b"x", None);
    assert_eq!(components(&path), set(&[b"new", b"x"]));
    drop(second);
    install(&state, "other", b"x", None);
    assert_eq!(components(&path), set(&[b"x"]));
}

#[test]
fn files_of_unfinished_changes_are_removed_at_open() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let _pinned = state.pin(&digest(b"never committed"), b"never committed").unwrap();
    // As after `kill -9`: nothing runs to its end.
    let files = [path.join(".tmp-a"), path.join(COMPONENTS).join(".tmp-b")];
    for file in &files {
        fs::write(file, "torn").unwrap();
    }
    drop((_pinned, state));
    open(&path);
    assert!(files.iter().all(|file| !file.exists()));
    assert_eq!(components(&path), set(&[b"first"]));
}

/// Every state of the disk that a crash can leave within one change: before and after each step of it.
#[test]
fn a_crash_at_any_step_leaves_the_old_or_the_new_version_whole() {
    let steps: [fn(&Path); 5] = [
        |_| {},
        |path| fs::write(path.join(COMPONENTS).join(".tmp-x"), "ne").unwrap(),
        |path| fs::write(path.join(COMPONENTS).join(digest(b"new")), "new").unwrap(),
        |path| fs::write(path.join(".tmp-y"), "{ \"format\"").unwrap(),
        |path| {
            let modules = Modules::from([("one".to_owned(), version(b"new", Some(b"old")))]);
            fs::write(path.join(RECORD), record::write(&modules).unwrap()).unwrap();
        },
    ];
    for crash in 0..steps.len() {
        let (_above, path) = directory();
        let state = open(&path);
        install(&state, "one", b"old", None);
        drop(state);
        for step in &steps[..=crash] {
            step(&path);
        }
        let state = open(&path);
        let current = state.versions("one").and_then(|version| version.current).unwrap();
        let expected: &[u8] = if crash == 4 { b"new" } else { b"old" };
        assert_eq!(state.component(&current, 1024).unwrap(), expected, "step {crash}");
    }
}

#[test]
fn a_second_opener_is_refused_until_the_first_one_ends() {
    let (_above, path) = directory();
    let first = open(&path);
    let clone = first.clone();
    drop(first);
    let error = StateDirectory::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(
        error.to_string(),
        format!("the state directory `{}` is in use by another server", path.display())
    );
    drop(clone);
    open(&path);
}

#[test]
fn a_damaged_record_is_an_error_that_names_it() {
    let (_above, path) = directory();
    drop(open(&path));
    let record = path.join(RECORD);
    for (text, cause) in [
        ("", "EOF"),
        ("{ \"format\": 1, \"mod", "EOF"),
        (r#"{ "format": 9 }"#, "its format is 9, expected 3 or less"),
        (r#"{ "format": 1, "sha256": "", "modules": {} }"#, "it was changed"),
    ] {
        fs::write(&record, text).unwrap();
        let error = StateDirectory::open(&path).unwrap_err();
        assert!(error.to_string().contains(&*record.to_string_lossy()), "{error}");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert!(
            source.as_deref().is_some_and(|source| source.contains(cause)),
            "{source:?}"
        );
        assert!(error.hint().is_some());
        assert_eq!(fs::read_to_string(&record).unwrap(), text, "it is unchanged");
    }
}

#[test]
fn a_missing_record_is_not_an_empty_one() {
    let (_above, path) = directory();
    drop(open(&path));
    fs::remove_file(path.join(RECORD)).unwrap();
    let error = StateDirectory::open(&path).unwrap_err();
    assert!(
        error.to_string().ends_with("is missing, though there are components"),
        "{error}"
    );
}

#[test]
fn a_damaged_component_is_an_error_and_is_replaced_when_it_is_written_again() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let file = path.join(COMPONENTS).join(digest(b"first"));
    fs::write(&file, "fir").unwrap();
    let error = state.component(&digest(b"first"), 1024).unwrap_err();
    assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
    assert!(error.to_string().contains("is damaged"), "{error}");
    install(&state, "one", b"first", None);
    assert_eq!(state.component(&digest(b"first"), 1024).unwrap(), b"first");
}

#[test]
fn unknown_and_wrong_digests_are_refused() {
    let (_above, path) = directory();
    let state = open(&path);
    let error = state.commit("one", version(b"unknown", None)).unwrap_err();
    assert!(error.to_string().contains("is not there"), "{error}");
    let error = state.pin(&digest(b"one thing"), b"another").map(drop).unwrap_err();
    assert!(error.to_string().contains("expected"), "{error}");
    for name in ["", "..", "../../state.json", &digest(b"x").to_uppercase()] {
        assert!(state.component(name, 1024).is_err(), "{name}");
    }
    assert!(state.names().is_empty() && components(&path).is_empty());
}

#[test]
fn a_previous_version_that_is_missing_does_not_refuse_the_current_one() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    install(&state, "one", b"second", Some(b"first"));
    fs::remove_file(path.join(COMPONENTS).join(digest(b"first"))).unwrap();
    let recorded = state.versions("one").unwrap();
    state.commit("one", recorded).unwrap();
    assert_eq!(state.versions("one"), Some(version(b"second", None)));
}

#[test]
fn what_stays_the_same_is_not_written() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    // A write would put another file in its place.
    fs::write(path.join(RECORD), "the same").unwrap();
    install(&state, "one", b"first", None);
    assert_eq!(fs::read_to_string(path.join(RECORD)).unwrap(), "the same");
}

#[test]
fn a_failed_write_changes_nothing() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let _pinned = state.pin(&digest(b"second"), b"second").unwrap();
    // A directory cannot be replaced by a file.
    fs::remove_file(path.join(RECORD)).unwrap();
    fs::create_dir(path.join(RECORD)).unwrap();
    let error = state.commit("one", version(b"second", Some(b"first"))).unwrap_err();
    assert!(error.to_string().ends_with("cannot be written"), "{error}");
    assert_eq!(state.versions("one"), Some(version(b"first", None)));
}

#[cfg(unix)]
#[test]
fn what_another_user_may_write_is_refused_by_its_path() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    let (_above, path) = directory();
    install(&open(&path), "one", b"first", None);
    let component = format!("{COMPONENTS}/{}", digest(b"first"));
    for (file, mode, expected) in [
        ("", 0o775, "0755"),
        ("", 0o757, "0755"),
        (COMPONENTS, 0o770, "0750"),
        (RECORD, 0o666, "0644"),
        (&*component, 0o602, "0600"),
    ] {
        let file = path.join(file);
        let before = fs::metadata(&file).unwrap().permissions();
        assert_eq!(before.mode() & 0o077, 0, "{}", file.display());
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let error = StateDirectory::open(&path).unwrap_err().to_string();
        let name = format!("`{}`", file.display().to_string().trim_end_matches('/'));
        let problem = format!("{name} is open to others: its mode is {mode:04o}, expected {expected}");
        assert!(error.ends_with(&problem), "{error}");
        fs::set_permissions(&file, before).unwrap();
    }
    open(&path);
}

/// Opening a FIFO waits for its writer, and a file may be longer than the memory.
#[cfg(unix)]
#[test]
fn fifos_and_endless_files_are_not_read() {
    let fifo = |path: &Path| {
        let _ = fs::remove_file(path);
        let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        // Not by a process: until it is `mkfifo` it has the locks of the directories of other tests.
        // SAFETY: the path ends with a NUL.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    };
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let component = path.join(COMPONENTS).join(digest(b"first"));
    fs::File::options()
        .write(true)
        .open(&component)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let error = state.component(&digest(b"first"), 1024).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
    fifo(&component);
    assert!(state.component(&digest(b"first"), 1024).is_err());
    install(&state, "one", b"first", None);
    assert_eq!(
        state.component(&digest(b"first"), 1024).unwrap(),
        b"first",
        "it is written again"
    );
    drop(state);
    for temporary in [path.join(".tmp-a"), path.join(COMPONENTS).join(".tmp-b")] {
        fifo(&temporary);
    }
    drop(open(&path));
    fifo(&path.join(LOCK));
    let error = StateDirectory::open(&path).map(drop).unwrap_err();
    assert!(error.to_string().contains(LOCK), "{error}");
}

#[test]
fn calls_of_the_current_version_are_recorded_once() {
    let (_above, path) = directory();
    let state = open(&path);
    install(&state, "one", b"first", None);
    let seconds = Duration::from_secs;
    let calls = |version: &[u8], calls: u64, time_on_trial: Option<Duration>| VersionCalls {
        module: "one".to_owned(),
        digest: digest(version),
        calls: [(
            "GET /".to_owned(),
            CallCounts {
                calls,
                ..CallCounts::default()
            },
        )]
        .into(),
        time_on_trial,
    };
    let recorded = |state: &StateDirectory| {
        let versions = state.versions("one").unwrap();
        let calls: u64 = versions.calls.values().map(|counts| counts.calls).sum();
        (calls, versions.trial)
    };
    let record = |version: VersionCalls| {
        let before = fs::read(path.join(RECORD)).unwrap();
        state.record_calls(&[version]).unwrap();
        (fs::read(path.join(RECORD)).unwrap() != before, recorded(&state))
    };
    assert_eq!(record(calls(b"first", 7, Some(seconds(1)))), (true, (7, Some(1_000))));
    assert_eq!(
        record(calls(b"first", 7, Some(seconds(10)))),
        (false, (7, Some(1_000))),
        "less than a step"
    );
    assert_eq!(record(calls(b"first", 7, Some(seconds(11)))), (true, (7, Some(11_000))));
    assert_eq!(
        record(calls(b"other", 9, None)),
        (false, (7, Some(11_000))),
        "it is not current"
    );
    assert_eq!(record(calls(b"first", 7, None)), (true, (7, None)));
    let of_unknown = VersionCalls {
        module: "two".to_owned(),
        ..calls(b"first", 1, None)
    };
    assert!(!record(of_unknown).0);
    drop(state);
    assert_eq!(recorded(&open(&path)), (7, None));
}
