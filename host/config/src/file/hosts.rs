//! Hosts and ports: addresses to listen on, and hosts that a module may connect to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on: host and port.
///
/// The host is a name, an IPv4 address, or an IPv6 address in brackets. Names are resolved when the server starts. Port 0
/// is a free one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen(String);

impl Listen {
    /// The text, as `std::net::ToSocketAddrs` expects it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |reason: &str| {
            format!("`{text}` {reason}; expected host and port, as in `127.0.0.1:8080`, `[::1]:8080` or `localhost:0`")
        };
        let (host, port) = split(text).map_err(refuse)?;
        if port.parse::<u16>().is_err() {
            return Err(refuse("does not end in a port from 0 to 65535"));
        }
        let bracketed = host.starts_with('[') && host.ends_with(']');
        if text.parse::<SocketAddr>().is_err() && (bracketed || host.contains([':', '/', '[', ']', ' '])) {
            return Err(refuse("is not an address"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Checks a host and a port that a module may connect to. The port is never 0.
pub(super) fn check_socket(text: &str) -> Result<(), String> {
    let refuse = |reason: &str| {
        format!("`{text}` {reason}; expected host and port, as in `127.0.0.1:5432`, `[::1]:5432` or `db.internal:5432`")
    };
    let (host, port) = split(text).map_err(refuse)?;
    if !is_port(port) {
        return Err(refuse("does not end in a port from 1 to 65535"));
    }
    if !is_host(host) {
        return Err(refuse("does not name a host"));
    }
    Ok(())
}

/// Checks a host that a module may send HTTP requests to. Without a port it is the default port of the scheme.
pub(super) fn check_http_host(text: &str) -> Result<(), String> {
    let refuse = |reason: &str| {
        format!(
            "`{text}` {reason}; expected a host without scheme and path, as in `api.example.com`, \
             `127.0.0.1:8080` or `[::1]:8080`"
        )
    };
    // A colon within brackets belongs to the host.
    let (host, port) = if text.rfind(':') > text.rfind(']') {
        split(text).map(|(host, port)| (host, Some(port))).map_err(refuse)?
    } else {
        (text, None)
    };
    if text.contains('/') || !is_host(host) {
        return Err(refuse("does not name a host"));
    }
    if port.is_some_and(|port| !is_port(port)) {
        return Err(refuse("does not end in a port from 1 to 65535"));
    }
    Ok(())
}

/// The host and the port, before and after the last colon.
fn split(text: &str) -> Result<(&str, &str), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    if host.is_empty() {
        return Err("has no host");
    }
    Ok((host, port))
}

/// Whether a client can connect to this port. Parsing a `u16` would accept `+80`.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Whether the text is an IPv4 address, an IPv6 address in brackets, or a DNS name.
fn is_host(text: &str) -> bool {
    if let Some(address) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    if text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()) {
        return true;
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // Resolvers disagree whether a name that ends in a number is an address.
    let ends_in_number = |text: &str| {
        let last = text.rsplit('.').next();
        last.is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
    };
    text.split('.').all(is_label) && !ends_in_number(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(check: fn(&str) -> Result<(), String>, cases: &[(&str, &str)]) {
        for (text, part) in cases {
            let error = check(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn listen_takes_host_and_port() {
        for text in ["127.0.0.1:8080", "[::1]:0", "localhost:80", "0.0.0.0:65535"] {
            assert_eq!(text.parse::<Listen>().as_ref().map(Listen::as_str), Ok(text));
        }
    }

    #[test]
    fn incomplete_listen_address_is_refused() {
        let cases = [
            ("8080", "no port"),
            (":8080", "no host"),
            ("localhost:http", "port from 0 to 65535"),
            ("localhost:70000", "port from 0 to 65535"),
            ("::1:8080", "is not an address"),
            ("[nonsense]:8080", "is not an address"),
            ("http://localhost:8080", "is not an address"),
        ];
        refusals(|text| text.parse::<Listen>().map(drop), &cases);
    }

    #[test]
    fn socket_takes_host_and_port() {
        for text in [
            "127.0.0.1:5432",
            "[::1]:1",
            "db.internal:65535",
            "db_1:5432",
            "xn--bcher-kva.example:80",
        ] {
            assert_eq!(check_socket(text), Ok(()));
        }
    }

    #[test]
    fn incomplete_socket_is_refused() {
        let cases = [
            ("db.internal", "has no port"),
            (":5432", "has no host"),
            ("db.internal:0", "port from 1 to 65535"),
            ("db.internal:+5432", "port from 1 to 65535"),
            ("db.internal:*", "port from 1 to 65535"),
            ("*:5432", "does not name a host"),
            ("::1:5432", "does not name a host"),
            ("10.0.0.0/8:5432", "does not name a host"),
            ("10.0.0.256:5432", "does not name a host"),
            ("db..internal:5432", "does not name a host"),
        ];
        refusals(check_socket, &cases);
    }

    #[test]
    fn http_host_takes_a_host_with_or_without_a_port() {
        for text in [
            "api.example.com",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:8080",
            "localhost:80",
        ] {
            assert_eq!(check_http_host(text), Ok(()));
        }
    }

    #[test]
    fn url_and_pattern_are_not_http_hosts() {
        let cases = [
            ("", "does not name a host"),
            ("https://api.example.com", "does not name a host"),
            ("https://api.example.com:443", "does not name a host"),
            ("api.example.com/v1", "does not name a host"),
            ("*.example.com", "does not name a host"),
            ("user@example.com", "does not name a host"),
            ("api.example.com:https", "port from 1 to 65535"),
            ("api.example.com:0", "port from 1 to 65535"),
            (":80", "has no host"),
            ("::1", "does not name a host"),
        ];
        refusals(check_http_host, &cases);
    }
}
