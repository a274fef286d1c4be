//! Values that are written as text: the prefix, networks, digests, health paths and names of channels.

use std::net::IpAddr;
use std::str::FromStr;

use pointwork::ipnet::IpNet;

/// A path before every route's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// A range of IP addresses, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network(pub(crate) IpNet);

/// The SHA-256 of a component in lower-case hex. It is written as `pointwork check` prints it, with `sha256:` or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) String);

/// The path of a route, for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health(pub(crate) String);

/// The name of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelName(pub(crate) String);

impl Prefix {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        pointwork::routing::Pattern::parse(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|error| format!("`{text}` is not a prefix: {error}"))
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| one()).map(Self).map_err(|_| {
            let text = text.escape_debug();
            format!("`{text}` is not a network; expected one such as `10.0.0.0/8`, `fd00::/8` or `192.0.2.1`")
        })
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(hex.to_ascii_lowercase()));
        }
        Err(format!(
            "`{text}` is not a SHA-256; expected 64 hex digits, as `pointwork check` prints them"
        ))
    }
}

impl FromStr for Health {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['?', '#']) {
            return Ok(Self(text.to_owned()));
        }
        let text = text.escape_debug();
        Err(format!("`{text}` is not a path; expected one such as `/health`"))
    }
}

impl FromStr for ChannelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control()) {
            let text = text.escape_debug();
            return Err(format!("`{text}` is not a channel; expected a name such as `product`"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Reads these types in the file as [`FromStr`] does.
macro_rules! deserialize_by_from_str {
    ($($type:ty)*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

deserialize_by_from_str!(Prefix Network Digest Health ChannelName super::hosts::Listen);
