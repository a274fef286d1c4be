//! The tables `[admin]`, `[state]` and `[cache]`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeValue;

use super::hosts::Listen;
use super::problem::Problem;
use super::table;

/// The admin endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// The socket or the address on which it listens.
    pub address: AdminAddress,
    /// The file with the token; an address needs one.
    pub token_file: Option<PathBuf>,
}

/// The place of an admin endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddress {
    /// The path of a socket.
    Socket(PathBuf),
    /// Host and port.
    Listen(Listen),
}

impl FromStr for AdminAddress {
    type Err = String;

    /// A text that ends in a port and has no slash is an address. A socket with such a name is written `./host:80`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected the path of a socket, or host and port".to_owned());
        }
        let has_port = text
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
        // As the server prints it.
        let address = text.strip_prefix("http://").unwrap_or(text);
        if has_port && !address.contains('/') {
            address.parse().map(Self::Listen)
        } else {
            Ok(Self::Socket(text.into()))
        }
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Listen(listen) => listen.fmt(f),
        }
    }
}

/// The cache of compiled components.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cache {
    /// Whether compiled components are kept.
    pub enabled: bool,
    /// The directory; `None` for the default.
    pub directory: Option<PathBuf>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            enabled: true,
            directory: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawAdmin {
    socket: Option<PathBuf>,
    listen: Option<Spanned<Listen>>,
    token_file: Option<PathBuf>,
}

/// Reads `[state]`: its directory.
pub(super) fn state<'de, D: Deserializer<'de>>(table: D) -> Result<Option<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct State {
        directory: PathBuf,
    }
    Ok(Some(State::deserialize(table)?.directory))
}

/// Reads `[admin]` of a file in the directory `base`.
pub(super) fn admin(value: Spanned<DeValue<'_>>, base: &Path) -> Result<Admin, Problem> {
    let (span, table) = table::of("admin", value)?;
    let RawAdmin {
        socket,
        listen,
        token_file,
    } = table::read(span.clone(), table, &[])?;
    let address = match (socket, listen) {
        (Some(socket), None) => AdminAddress::Socket(base.join(socket)),
        (None, Some(listen)) if token_file.is_none() => {
            return Err(
                Problem::new(listen.span(), "an admin endpoint on an address needs a token")
                    .with_hint("name the file that contains it: token-file = \"…\"; a `socket` needs no token"),
            );
        }
        (None, Some(listen)) => AdminAddress::Listen(listen.into_inner()),
        _ => {
            return Err(Problem::new(span, "the admin endpoint needs one place")
                .with_hint("expected exactly one of `socket` and `listen`"));
        }
    };
    Ok(Admin {
        address,
        token_file: token_file.map(|file| base.join(file)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_a_port_is_an_address_and_any_other_a_socket() {
        let read = |text: &str| text.parse::<AdminAddress>().expect("one of them");
        assert!(matches!(read("127.0.0.1:9090"), AdminAddress::Listen(_)));
        assert!(matches!(read("[::1]:0"), AdminAddress::Listen(_)));
        for socket in ["admin.sock", "/run/shop/admin.sock", "./localhost:80", "a:b"] {
            assert_eq!(read(socket), AdminAddress::Socket(socket.into()));
        }
        assert!("".parse::<AdminAddress>().is_err());
        assert!("127.0.0.1:99999".parse::<AdminAddress>().is_err());
    }
}
