//! The tables `[module.grant]`: what a module may reach outside the contract.

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

/// What a module is granted; by default nothing. A list that is there and empty grants the interface alone: the module
/// may import it, and finds nothing behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The time of day, and a clock that only goes forward.
    pub(crate) clocks: bool,
    /// Random numbers, fit for keys.
    pub(crate) random: bool,
    /// Standard output and standard error, which go to the log.
    pub(crate) output: bool,
    /// Environment entries by name.
    pub(crate) environment: Option<BTreeMap<String, Variable>>,
    /// Directories; no two have the same place in the module.
    pub(crate) directories: Option<Vec<Directory>>,
    /// Where it may open connections to.
    pub(crate) sockets: Option<Vec<Socket>>,
    /// Which hosts it may send HTTP requests to.
    pub(crate) http: Option<Vec<HttpHost>>,
}

/// The value of an environment entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// The text itself.
    Text(String),
    /// What a variable of the host's environment holds when the module is loaded.
    Host {
        /// The variable's name.
        name: String,
        /// Where the entry stands in the file.
        position: Position,
    },
}

/// A directory of the host as a module sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The directory. One that the module may write to is created if it is not there.
    pub(crate) host: PathBuf,
    /// Its absolute path in the module.
    pub(crate) guest: String,
    /// What the module may do there.
    pub(crate) access: Access,
    /// Where `host` stands in the file.
    pub(crate) position: Position,
}

/// What a module may do in a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Access {
    /// List and read.
    #[default]
    ReadOnly,
    /// Also create, change and remove.
    ReadWrite,
}

/// The table as it is written.
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
    /// Checks what stands in `text`, a file in `base`.
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

/// The place of an error is that of the item, where serde would know only the list's.
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
                    "the value of `{}` has a zero byte, which no environment holds",
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
            "`{}` cannot be the name of an environment entry",
            name.get_ref().escape_debug()
        );
        return Err(
            Problem::new(name.span(), message).with_hint("a name is not empty, and has neither `=` nor a zero byte")
        );
    }
    Ok(())
}

fn directories(raw: Vec<RawDirectory>, text: &str, base: &Path) -> Result<Vec<Directory>, Problem> {
    let mut directories: Vec<Directory> = Vec::with_capacity(raw.len());
    for RawDirectory { host, guest, access } in raw {
        if host.get_ref().as_os_str().is_empty() {
            return Err(
                Problem::new(host.span(), "a directory without a path").with_hint("the file's own directory is `.`")
            );
        }
        let place = guest_path(&guest)?;
        if directories.iter().any(|other| other.guest == place) {
            return Err(Problem::new(guest.span(), format!("a second directory at `{place}`"))
                .with_hint("each directory has a place of its own in the module"));
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

/// The path without a slash at its end, so that a place has one spelling.
fn guest_path(path: &Spanned<String>) -> Result<String, Problem> {
    let text = path.get_ref();
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    let mut segments = trimmed.split('/').skip(1);
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if !text.starts_with('/') || !segments.all(is_plain) {
        let message = format!("`{}` is no path in a module", text.escape_debug());
        return Err(Problem::new(path.span(), message)
            .with_hint("expected an absolute path without `.`, `..` and doubled slashes, as in `/data`"));
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
