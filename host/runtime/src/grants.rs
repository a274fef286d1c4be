//! Capabilities beyond the contract, and the grants of a module.

use std::path::{Path, PathBuf};

use pointwork_core::http::uri::Authority;

use crate::setters::setters;

/// A part of WASI 0.2, which a module requests by importing its interfaces.
#[derive(
    Clone, Copy, Debug, derive_more::Display, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[display(rename_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Capability {
    /// `wasi:clocks`: the time of day and a monotonic clock.
    Clocks,
    /// `wasi:random`: random numbers.
    Random,
    /// `wasi:cli/stdout` and its like: standard output and error go to the host's log, standard input is empty.
    Output,
    /// `wasi:cli/environment`: the variables of the module.
    Environment,
    /// `wasi:filesystem`: directories of the host.
    Directories,
    /// `wasi:sockets`: outgoing TCP connections.
    Sockets,
    /// `wasi:http`: outgoing HTTP requests.
    Http,
}

impl Capability {
    const ALL: [Self; 7] = [
        Self::Clocks,
        Self::Random,
        Self::Output,
        Self::Environment,
        Self::Directories,
        Self::Sockets,
        Self::Http,
    ];

    /// The line of a configuration that grants the interface, with nothing behind it.
    pub fn line(self) -> &'static str {
        match self {
            Self::Clocks => "clocks = true",
            Self::Random => "random = true",
            Self::Output => "output = true",
            Self::Environment => "environment = true",
            Self::Directories => "directories = []",
            Self::Sockets => "sockets = []",
            Self::Http => "http = []",
        }
    }

    /// The capability of an imported interface; `Ok(None)` if the interface needs no grant.
    ///
    /// # Errors
    /// The host does not have the interface.
    pub(crate) fn from_import(import: &str) -> Result<Option<Self>, ()> {
        let (interface, version) = import.split_once('@').ok_or(())?;
        if !version.starts_with("0.2.") {
            return Err(());
        }
        let (package, name) = interface.split_once('/').ok_or(())?;
        match (package, name) {
            ("wasi:io", _) | ("wasi:cli", "exit") => Ok(None),
            ("wasi:clocks", _) => Ok(Some(Self::Clocks)),
            ("wasi:random", _) => Ok(Some(Self::Random)),
            ("wasi:cli", "environment") => Ok(Some(Self::Environment)),
            ("wasi:cli", "stdin" | "stdout" | "stderr") => Ok(Some(Self::Output)),
            ("wasi:cli", name) if name.starts_with("terminal-") => Ok(Some(Self::Output)),
            ("wasi:filesystem", _) => Ok(Some(Self::Directories)),
            ("wasi:sockets", _) => Ok(Some(Self::Sockets)),
            ("wasi:http", "types" | "outgoing-handler") => Ok(Some(Self::Http)),
            _ => Err(()),
        }
    }
}

/// The access to a directory.
#[derive(Clone, Copy, Debug, Default, derive_more::Display, PartialEq, Eq, Hash, serde::Deserialize)]
#[display(rename_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read files and list directories.
    #[default]
    ReadOnly,
    /// Also create, change and remove them.
    ReadWrite,
}

/// A directory of the host, under a name for the guest. The guest reaches only what lies below it; symbolic links do
/// not lead out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) access: Access,
}

impl Directory {
    /// The host's directory `host`, which the guest finds at `guest`, such as `/data`.
    pub fn new(host: impl AsRef<Path>, guest: impl Into<String>, access: Access) -> Self {
        Self {
            host: host.as_ref().to_owned(),
            guest: guest.into(),
            access,
        }
    }
}

/// The capabilities that a module is granted (spec C5). By default it has none: a module that imports an interface of a
/// capability without a grant is refused at load.
///
/// A capability can be granted with nothing behind it: a module that was compiled for `wasm32-wasip2` imports
/// interfaces that it never uses.
///
/// ```
/// use pointwork::{Access, Capability, Directory, Grants};
///
/// let grants = Grants::new()
///     .clocks()
///     .environment()
///     .directories([Directory::new("/var/lib/shop", "/data", Access::ReadWrite)])
///     .http(["api.example.com".to_owned()]);
/// assert!(grants.has(Capability::Http) && !grants.has(Capability::Sockets));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    clocks: bool,
    random: bool,
    output: bool,
    environment: bool,
    pub(crate) directories: Option<Vec<Directory>>,
    pub(crate) sockets: Option<Vec<String>>,
    pub(crate) http: Option<Vec<String>>,
}

impl Grants {
    /// No grants.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Grants [`Clocks`](Capability::Clocks).
        clocks() => true;
        /// Grants [`Random`](Capability::Random).
        random() => true;
        /// Grants [`Output`](Capability::Output).
        output() => true;
        /// Grants [`Environment`](Capability::Environment), which has the [variables](crate::Variables) of the module.
        environment() => true;
    }

    /// Grants [`Directories`](Capability::Directories) with these.
    #[must_use]
    pub fn directories(mut self, directories: impl IntoIterator<Item = Directory>) -> Self {
        self.directories.get_or_insert_default().extend(directories);
        self
    }

    /// Grants [`Sockets`](Capability::Sockets): TCP connections to these addresses, each `host:port`. A name is looked
    /// up whenever the guest connects. The guest may look up any name itself, unless the list is empty. It can neither
    /// listen nor use UDP.
    #[must_use]
    pub fn sockets(mut self, addresses: impl IntoIterator<Item = String>) -> Self {
        self.sockets.get_or_insert_default().extend(addresses);
        self
    }

    /// Grants [`Http`](Capability::Http): requests to these hosts, each `host` for the port of the scheme, or
    /// `host:port`. Redirects are not followed.
    #[must_use]
    pub fn http(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.http.get_or_insert_default().extend(hosts);
        self
    }

    /// Whether a capability is granted, even with nothing behind it.
    pub fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Clocks => self.clocks,
            Capability::Random => self.random,
            Capability::Output => self.output,
            Capability::Environment => self.environment,
            Capability::Directories => self.directories.is_some(),
            Capability::Sockets => self.sockets.is_some(),
            Capability::Http => self.http.is_some(),
        }
    }

    /// One readable text for each capability that is granted.
    pub fn describe(&self) -> Vec<String> {
        let describe = |capability: Capability| {
            let values: Vec<String> = match capability {
                Capability::Clocks | Capability::Random | Capability::Output | Capability::Environment => {
                    return self.has(capability).then(|| capability.to_string());
                }
                Capability::Directories => {
                    let directories = self.directories.as_ref()?.iter();
                    directories
                        .map(|directory| format!("{} ({})", directory.guest, directory.access))
                        .collect()
                }
                Capability::Sockets => self.sockets.clone()?,
                Capability::Http => self.http.clone()?,
            };
            let values = if values.is_empty() {
                "none".to_owned()
            } else {
                values.join(", ")
            };
            Some(format!("{capability} {values}"))
        };
        Capability::ALL.into_iter().filter_map(describe).collect()
    }

    /// Whether a request to that authority is allowed. `default_port` is the port of its scheme.
    pub(crate) fn allows_http(&self, authority: &Authority, default_port: u16) -> bool {
        let port = authority.port_u16().unwrap_or(default_port);
        self.http.iter().flatten().any(|allowed| {
            allowed.parse::<Authority>().is_ok_and(|allowed| {
                allowed.host().eq_ignore_ascii_case(authority.host())
                    && allowed.port_u16().unwrap_or(default_port) == port
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(text: &str) -> Authority {
        text.parse().expect("an authority")
    }

    #[test]
    fn a_host_without_a_port_has_that_of_the_scheme() {
        let grants = Grants::new().http(["api.example.com".to_owned(), "[::1]:8080".to_owned()]);
        assert!(grants.allows_http(&authority("API.example.com"), 443));
        assert!(grants.allows_http(&authority("api.example.com:80"), 80));
        assert!(!grants.allows_http(&authority("api.example.com:8080"), 80));
        assert!(grants.allows_http(&authority("[::1]:8080"), 80));
        assert!(!grants.allows_http(&authority("api.example.com.evil.net"), 443));
        assert!(!Grants::new().allows_http(&authority("api.example.com"), 443));
    }

    #[test]
    fn every_interface_of_a_capability_belongs_to_it() {
        for (import, expected) in [
            ("wasi:io/streams@0.2.6", Ok(None)),
            ("wasi:cli/exit@0.2.6", Ok(None)),
            ("wasi:cli/terminal-stdin@0.2.6", Ok(Some(Capability::Output))),
            ("wasi:filesystem/preopens@0.2.0", Ok(Some(Capability::Directories))),
            ("wasi:http/incoming-handler@0.2.6", Err(())),
            ("wasi:clocks/wall-clock@0.3.0", Err(())),
            ("wasi:keyvalue/store@0.2.0", Err(())),
            ("acme:thing/of-ours@0.2.0", Err(())),
        ] {
            assert_eq!(Capability::from_import(import), expected, "{import}");
        }
    }

    #[test]
    fn the_description_has_what_is_behind_a_grant() {
        let grants = Grants::new()
            .clocks()
            .environment()
            .directories([Directory::new("/srv", "/data", Access::ReadWrite)])
            .sockets([]);
        let expected = [
            "clocks",
            "environment",
            "directories /data (read-write)",
            "sockets none",
        ];
        assert_eq!(grants.describe(), expected);
    }
}
