//! The file that says which version of each module is current.
//!
//! ```json
//! {
//!   "format": 1,
//!   "sha256": "of `modules`, without any space between",
//!   "modules": { "products": { "current": "…", "previous": "…", "base": "…" } }
//! }
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::Version;

/// The version of the format that is written, and the newest one that is read.
const FORMAT: u64 = 1;

/// What is said of each module, by its name.
pub(super) type Modules = BTreeMap<String, Version>;

#[derive(Serialize)]
struct Written<'a> {
    format: u64,
    sha256: String,
    modules: &'a Modules,
}

/// What every format has.
#[derive(Deserialize)]
struct Any {
    format: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(rename = "format")]
    _format: u64,
    sha256: String,
    modules: Modules,
}

pub(super) fn write(modules: &Modules) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(&Written {
        format: FORMAT,
        sha256: digest(modules)?,
        modules,
    })?;
    text.push(b'\n');
    Ok(text)
}

pub(super) fn read(text: &[u8]) -> Result<Modules, Unreadable> {
    let Any { format } = serde_json::from_slice(text).map_err(Unreadable::Syntax)?;
    if format != FORMAT {
        return Err(Unreadable::Format(format));
    }
    let read: Read = serde_json::from_slice(text).map_err(Unreadable::Syntax)?;
    if digest(&read.modules).map_err(Unreadable::Syntax)? != read.sha256 {
        return Err(Unreadable::Digest);
    }
    if let Some(wrong) = read
        .modules
        .values()
        .flat_map(Version::digests)
        .find(|digest| !is_digest(digest))
    {
        return Err(Unreadable::NoDigest(wrong.to_owned()));
    }
    Ok(read.modules)
}

/// Names and digests are sorted, so what was read is written as it was.
fn digest(modules: &Modules) -> serde_json::Result<String> {
    serde_json::to_vec(modules).map(|text| crate::digest(&text))
}

/// Whether it is a SHA-256 in lower-case hex, and so fit for a file name.
pub(super) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why the file is not read.
#[derive(Debug)]
pub(super) enum Unreadable {
    Syntax(serde_json::Error),
    Format(u64),
    Digest,
    NoDigest(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Format(format) => write!(f, "its format is {format}, expected {FORMAT}"),
            Self::Digest => f.write_str("it was changed: `sha256` is not the digest of `modules`"),
            Self::NoDigest(text) => write!(f, "`{}` is no SHA-256 in lower-case hex", text.escape_debug()),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    /// What to do about it.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Format(format) if *format > FORMAT => {
                "a newer version of Pointwork wrote it: start that version, or name another state directory"
            }
            _ => {
                "copy the file back from a backup; or remove the state directory: every module then begins with the \
                 component that it is configured with, and versions that were uploaded since are gone"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules() -> Modules {
        let version = Version {
            current: Some(crate::digest(b"new")),
            previous: Some(crate::digest(b"old")),
            base: None,
        };
        Modules::from([("a \"quoted\" name".to_owned(), version)])
    }

    #[test]
    fn what_is_written_is_read() {
        for modules in [modules(), Modules::new()] {
            assert_eq!(read(&write(&modules).unwrap()).unwrap(), modules);
        }
    }

    #[test]
    fn no_flipped_bit_changes_what_is_said() {
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
    fn another_format_is_told_from_damage() {
        let newer = br#"{ "format": 2, "anything": [] }"#;
        let unreadable = read(newer).unwrap_err();
        assert!(matches!(unreadable, Unreadable::Format(2)), "{unreadable}");
        assert!(unreadable.hint().contains("newer version"));
        assert!(matches!(read(b"").unwrap_err(), Unreadable::Syntax(_)));
    }

    #[test]
    fn a_path_is_no_digest() {
        let version = Version {
            current: Some("../../etc/passwd".to_owned()),
            ..Version::default()
        };
        let text = write(&Modules::from([("m".to_owned(), version)])).unwrap();
        assert!(matches!(read(&text).unwrap_err(), Unreadable::NoDigest(_)));
    }
}
