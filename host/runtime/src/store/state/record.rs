//! The record file: the current version of each module.
//!
//! ```json
//! {
//!   "format": 3,
//!   "sha256": "of `modules`, without any space between",
//!   "modules": { "products": { "current": "…", "previous": "…", "base": "…", "routes": [ { "method": "GET", "path": "/" } ],
//!     "calls": { "GET /": { "calls": 120, "failed": 3, "breaker-opened": false } }, "previous-calls": { … }, "trial": 60000 } }
//! }
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RecordedVersions;

/// The version of the format that is written, and the newest one that is read. The first one has no `routes`, and
/// the second one no `calls`, `previous-calls` and `trial`.
const FORMAT: u64 = 3;

/// The versions of each module, by its name.
pub(super) type Modules = BTreeMap<String, RecordedVersions>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u64,
    /// Of `modules`.
    sha256: String,
    modules: Modules,
}

/// The part that every format has.
#[derive(Deserialize)]
struct AnyRecord {
    format: u64,
}

pub(super) fn write(modules: &Modules) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(&Record {
        format: FORMAT,
        sha256: digest(modules)?,
        modules: modules.clone(),
    })?;
    text.push(b'\n');
    Ok(text)
}

pub(super) fn read(text: &[u8]) -> Result<Modules, Unreadable> {
    let AnyRecord { format } = serde_json::from_slice(text)?;
    if !(1..=FORMAT).contains(&format) {
        return Err(Unreadable::Format(format));
    }
    let Record { sha256, modules, .. } = serde_json::from_slice(text)?;
    if digest(&modules)? != sha256 {
        return Err(Unreadable::Digest);
    }
    let wrong = modules
        .values()
        .flat_map(RecordedVersions::digests)
        .find(|digest| !is_digest(digest));
    match wrong.map(str::to_owned) {
        Some(wrong) => Err(Unreadable::NotADigest(wrong)),
        None => Ok(modules),
    }
}

/// Names are sorted, so that equal records have equal digests.
fn digest(modules: &Modules) -> serde_json::Result<String> {
    serde_json::to_vec(modules).map(|text| crate::digest(&text))
}

/// Whether it is a SHA-256 in lower-case hex, which is safe as a file name.
pub(super) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The reason why the file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    #[error("its format is {0}, expected {FORMAT} or less")]
    Format(u64),
    #[error("it was changed: `sha256` is not the digest of `modules`")]
    Digest,
    #[error("`{}` is not a SHA-256 in lower-case hex", .0.escape_debug())]
    NotADigest(String),
}

impl Unreadable {
    /// The way to repair it.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Format(format) if *format > FORMAT => {
                "a newer version of Pointwork wrote it: start that version, or name another state directory"
            }
            _ => {
                "copy the file back from a backup; or remove the state directory: every module then begins with its \
                 configured component, and versions that were uploaded since are lost"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::KeptRoute;
    use super::*;
    use crate::call_counts::CallCounts;

    fn modules() -> Modules {
        let calls = CallCounts {
            calls: 120,
            failed: 3,
            breaker_opened: true,
        };
        let version = RecordedVersions {
            current: Some(crate::digest(b"new")),
            previous: Some(crate::digest(b"old")),
            base: None,
            routes: vec![KeptRoute {
                method: Some("GET".to_owned()),
                path: "/version".to_owned(),
            }],
            calls: [("GET /version".to_owned(), calls)].into(),
            previous_calls: [("db:version".to_owned(), calls)].into(),
            trial: Some(60_000),
        };
        Modules::from([("a \"quoted\" name".to_owned(), version)])
    }

    #[test]
    fn no_flipped_bit_changes_the_versions() {
        let mut text = write(&modules()).unwrap();
        for bit in 0..text.len() * 8 {
            text[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = read(&text) {
                // A space that became another one.
                assert_eq!(read, modules(), "bit {bit}");
            }
            text[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn no_truncation_is_read() {
        let text = write(&modules()).unwrap();
        let whole = text.len() - 1;
        for length in 0..whole {
            assert!(read(&text[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn another_format_is_distinguished_from_damage() {
        let newer = br#"{ "format": 4, "anything": [] }"#;
        let unreadable = read(newer).unwrap_err();
        assert!(matches!(unreadable, Unreadable::Format(4)), "{unreadable}");
        assert!(unreadable.hint().contains("newer version"));
        assert!(matches!(read(b"").unwrap_err(), Unreadable::Syntax(_)));
    }

    #[test]
    fn earlier_formats_are_read() {
        let mut version = RecordedVersions {
            current: Some(crate::digest(b"new")),
            ..RecordedVersions::default()
        };
        for format in [1, 2] {
            let modules = Modules::from([("m".to_owned(), version.clone())]);
            let text = String::from_utf8(write(&modules).unwrap()).unwrap();
            let earlier = text.replace("\"format\": 3", &format!("\"format\": {format}"));
            assert_ne!(earlier, text);
            assert_eq!(read(earlier.as_bytes()).unwrap(), modules);
            version.routes = vec![KeptRoute {
                method: None,
                path: "/".to_owned(),
            }];
        }
    }

    #[test]
    fn a_path_is_not_a_digest() {
        let version = RecordedVersions {
            current: Some("../../etc/passwd".to_owned()),
            ..RecordedVersions::default()
        };
        let text = write(&Modules::from([("m".to_owned(), version)])).unwrap();
        assert!(matches!(read(&text).unwrap_err(), Unreadable::NotADigest(_)));
    }
}
