//! The tables `[module.grant]`: the capabilities of a module beyond the contract.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::hosts::{HttpHost, Socket};
use super::problem::{Position, Problem};

/// The capabilities of a module; none by default. An empty list grants the interface alone: the module may import it, but
/// cannot use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The time of day, and a monotonic clock.
    pub(crate) clocks: bool,
    /// Random numbers of cryptographic quality.
    pub(crate) random: bool,
    /// Standard output and standard error, written to the log.
    pub(crate) output: bool,
    /// Environment variables by name.
    pub(crate) environment: Option<BTreeMap<String, Variable>>,
    /// Directories; no two have the same path in the module.
    pub(crate) directories: Option<Vec<Directory>>,
    /// Hosts and ports for outgoing TCP connections.
    pub(crate) sockets: Option<Vec<Socket>>,
    /// Hosts for outgoing HTTP requests.
    pub(crate) http: Option<Vec<HttpHost>>,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// A text.
    Text(String),
    /// The value of a variable of the host at the time when the module is loaded.
    Host {
        /// The name of the host's variable.
        name: String,
        /// The place of the entry in the file.
        position: Position,
    },
}

/// A directory of the host that a module can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The directory of the host. It is created if the module may write to it.
    pub(crate) host: PathBuf,
    /// Its absolute path in the module.
    pub(crate) guest: String,
    /// The operations that the module may use there.
    pub(crate) access: Access,
    /// The place of `host` in the file.
    pub(crate) position: Position,
}

/// The operations that a module may use in a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Access {
    /// List and read.
    #[default]
    ReadOnly,
    /// Also create, change and remove.
    ReadWrite,
}

/// The table `[module.grant]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawGrant {
    #[serde(default)]
    clocks: bool,
    #[serde(default)]
    random: bool,
    #[serde(default)]
    output: bool,
    environment: Option<BTreeMap<Spanned<String>, Spanned<RawVariable>>>,
    directories: Option<Vec<RawDirectory>>,
    sockets: Option<Vec<Spanned<String>>>,
    http: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawDirectory {
    host: Spanned<PathBuf>,
    guest: Spanned<String>,
    #[serde(default)]
    access: Access,
}

enum RawVariable {
    Text(String),
    From(Spanned<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawSource {
    from: Spanned<String>,
}

impl RawGrant {
    /// Checks the table of the file `text` in the directory `base`.
    pub(super) fn read(self, text: &str, base: &Path) -> Result<Grant, Problem> {
        Ok(Grant {
            clocks: self.clocks,
            random: self.random,
            output: self.output,
            environment: self.environment.map(|raw| environment(raw, text)).transpose()?,
            directories: self.directories.map(|raw| directories(raw, text, base)).transpose()?,
            sockets: self.sockets.map(parse_each).transpose()?,
            http: self.http.map(parse_each).transpose()?,
        })
    }
}

/// Parses each item. An error has the place of the item; serde would name that of the list.
fn parse_each<T: FromStr<Err = String>>(raw: Vec<Spanned<String>>) -> Result<Vec<T>, Problem> {
    let parse = |item: Spanned<String>| {
        item.get_ref()
            .parse()
            .map_err(|error: String| Problem::new(item.span(), error))
    };
    raw.into_iter().map(parse).collect()
}

fn environment(
    raw: BTreeMap<Spanned<String>, Spanned<RawVariable>>,
    text: &str,
) -> Result<BTreeMap<String, Variable>, Problem> {
    let mut entries = BTreeMap::new();
    for (name, value) in raw {
        check_name(&name)?;
        let span = value.span();
        let value = match value.into_inner() {
            RawVariable::Text(value) if value.contains('\0') => {
                let message = format!(
                    "the value of `{}` has a zero byte, which is invalid in an environment",
                    name.get_ref()
                );
                return Err(Problem::new(span, message));
            }
            RawVariable::Text(value) => Variable::Text(value),
            RawVariable::From(source) => {
                check_name(&source)?;
                Variable::Host {
                    position: Position::of(text, source.span().start),
                    name: source.into_inner(),
                }
            }
        };
        entries.insert(name.into_inner(), value);
    }
    Ok(entries)
}

fn check_name(name: &Spanned<String>) -> Result<(), Problem> {
    if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
        let message = format!(
            "`{}` is not a valid name of an environment variable",
            name.get_ref().escape_debug()
        );
        return Err(Problem::new(name.span(), message)
            .with_hint("a name is not empty and contains neither `=` nor a zero byte"));
    }
    Ok(())
}

fn directories(raw: Vec<RawDirectory>, text: &str, base: &Path) -> Result<Vec<Directory>, Problem> {
    let mut directories: Vec<Directory> = Vec::with_capacity(raw.len());
    for RawDirectory { host, guest, access } in raw {
        if host.get_ref().as_os_str().is_empty() {
            return Err(Problem::new(host.span(), "the path of the directory is empty")
                .with_hint("write `.` for the directory of this file"));
        }
        let place = guest_path(&guest)?;
        if directories.iter().any(|other| other.guest == place) {
            return Err(
                Problem::new(guest.span(), format!("two directories have the path `{place}`"))
                    .with_hint("give each directory a path of its own in the module"),
            );
        }
        directories.push(Directory {
            position: Position::of(text, host.span().start),
            host: base.join(host.into_inner()),
            guest: place,
            access,
        });
    }
    Ok(directories)
}

/// The path without a slash at its end, so that equal paths are equal texts.
fn guest_path(path: &Spanned<String>) -> Result<String, Problem> {
    let text = path.get_ref();
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    let mut segments = trimmed.split('/').skip(1);
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if !text.starts_with('/') || !segments.all(is_plain) {
        let message = format!("`{}` is not a path in a module", text.escape_debug());
        return Err(Problem::new(path.span(), message)
            .with_hint("expected an absolute path without `.`, `..` and double slashes, as in `/data`"));
    }
    Ok(if trimmed.is_empty() { "/" } else { trimmed }.to_owned())
}

impl<'de> Deserialize<'de> for RawVariable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrSource;

        impl<'de> Visitor<'de> for TextOrSource {
            type Value = RawVariable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or { from = \"HOST_VARIABLE\" }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawVariable, E> {
                Ok(RawVariable::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawVariable, A::Error> {
                let source = RawSource::deserialize(MapAccessDeserializer::new(map))?;
                Ok(RawVariable::From(source.from))
            }
        }

        deserializer.deserialize_any(TextOrSource)
    }
}
