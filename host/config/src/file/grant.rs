//! The tables `[module.grant]`: the capabilities of a module beyond the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use pointwork::Access;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::hosts::{check_http_host, check_socket};
use super::problem::Problem;

/// The capabilities of a module; none by default. An empty list grants the interface alone: the module may import it, but
/// cannot use it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Grant {
    /// The time of day, and a monotonic clock.
    pub(crate) clocks: bool,
    /// Random numbers of cryptographic quality.
    pub(crate) random: bool,
    /// Standard output and standard error, written to the log.
    pub(crate) output: bool,
    pub(crate) environment: Option<BTreeMap<Spanned<String>, Spanned<Variable>>>,
    /// Directories; no two have the same path in the module.
    pub(crate) directories: Option<Vec<DirectoryGrant>>,
    /// Hosts and ports for outgoing TCP connections.
    pub(crate) sockets: Option<Vec<Spanned<String>>>,
    /// Hosts for outgoing HTTP requests.
    pub(crate) http: Option<Vec<Spanned<String>>>,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// A text.
    Text(String),
    /// The value of this variable of the host at the time when the module is loaded.
    Host(Spanned<String>),
}

/// A directory of the host that a module can use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DirectoryGrant {
    /// The directory of the host. It is created if the module may write to it.
    pub(crate) host: Spanned<PathBuf>,
    /// Its absolute path in the module, without a slash at its end.
    pub(crate) guest: Spanned<String>,
    /// The operations that the module may use there.
    #[serde(default)]
    pub(crate) access: Access,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostVariable {
    from: Spanned<String>,
}

impl Grant {
    /// Checks the values. Directories of the host become relative to `base`.
    pub(super) fn check(&mut self, base: &Path) -> Result<(), Problem> {
        for (name, value) in self.environment.iter().flatten() {
            check_name(name)?;
            match value.get_ref() {
                Variable::Text(text) if text.contains('\0') => {
                    let message = format!("the value of `{name}` has a zero byte, which is invalid in an environment");
                    return Err(Problem::new(value.span(), message));
                }
                Variable::Text(_) => {}
                Variable::Host(source) => check_name(source)?,
            }
        }
        self.check_directories(base)?;
        check_each(self.sockets.iter().flatten(), check_socket)?;
        check_each(self.http.iter().flatten(), check_http_host)
    }

    fn check_directories(&mut self, base: &Path) -> Result<(), Problem> {
        let mut places = BTreeSet::new();
        for DirectoryGrant { host, guest, .. } in self.directories.iter_mut().flatten() {
            if host.get_ref().as_os_str().is_empty() {
                return Err(Problem::new(host.span(), "the path of the directory is empty")
                    .with_hint("write `.` for the directory of this file"));
            }
            *host.get_mut() = base.join(host.get_ref());
            *guest.get_mut() = guest_path(guest)?;
            if !places.insert(guest.get_ref().clone()) {
                return Err(
                    Problem::new(guest.span(), format!("two directories have the path `{guest}`"))
                        .with_hint("give each directory a path of its own in the module"),
                );
            }
        }
        Ok(())
    }
}

/// Checks each item. An error has the place of the item.
fn check_each<'a>(
    mut items: impl Iterator<Item = &'a Spanned<String>>,
    check: fn(&str) -> Result<(), String>,
) -> Result<(), Problem> {
    items.try_for_each(|item| check(item.get_ref()).map_err(|error| Problem::new(item.span(), error)))
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

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrSource;

        impl<'de> Visitor<'de> for TextOrSource {
            type Value = Variable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or { from = \"HOST_VARIABLE\" }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Variable, E> {
                Ok(Variable::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Variable, A::Error> {
                let variable = HostVariable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Variable::Host(variable.from))
            }
        }

        deserializer.deserialize_any(TextOrSource)
    }
}
