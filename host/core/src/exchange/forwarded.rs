//! The client of a request: the peer of its connection, or what trusted proxies report (spec H9).

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::IpNet;

/// The other end of the connection that a request came on (spec H9).
///
/// An adapter's own server puts it into the request's [`http::Extensions`]. A server of your own may do the same, and has to
/// where its framework does not know the peer. Without it, a request has no remote address, and its scheme is `http`.
///
/// Only a peer within [`RouterOptions::trusted_proxies`](crate::RouterOptions::trusted_proxies) is believed if it reports
/// another client: by `Forwarded` (RFC 7239), or if there is none, by `X-Forwarded-For` and `X-Forwarded-Proto`. The headers
/// are read from the right, the end that the nearest proxy wrote, up to the first address outside the trusted networks. Where
/// they are malformed, too long, or hide the address (`unknown`, `_name`), reading stops at the last address that is known.
///
/// ```
/// use std::net::SocketAddr;
/// use pointwork_core::{Body, Peer};
/// use pointwork_core::http::Request;
///
/// let mut request = Request::new(Body::empty());
/// let address = SocketAddr::from(([192, 0, 2, 7], 4711));
/// request.extensions_mut().insert(Peer::new(address, true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    address: Option<Address>,
    is_secure: bool,
}

impl Peer {
    /// A peer by its address, `None` if the transport has none, and whether the connection has TLS: `https`.
    pub fn new(address: impl Into<Option<SocketAddr>>, is_secure: bool) -> Self {
        Self {
            address: address.into().map(Address::from),
            is_secure,
        }
    }

    /// A peer whose port is not known.
    pub fn without_port(ip: IpAddr, is_secure: bool) -> Self {
        let ip = ip.to_canonical();
        Self {
            address: Some(Address { ip, port: None }),
            is_secure,
        }
    }

    /// The client behind the peer: the peer itself, or what trusted proxies report.
    pub(crate) fn client(mut self, headers: &HeaderMap, trusted: &[IpNet]) -> Self {
        if !self.is_trusted(trusted) {
            return self;
        }
        if headers.contains_key(FORWARDED) {
            self.follow(entries(headers, FORWARDED).map_while(forwarded), trusted);
        } else {
            let mut clients = entries(headers, X_FORWARDED_FOR);
            let mut schemes = entries(headers, X_FORWARDED_PROTO);
            let hops = std::iter::from_fn(|| {
                let (client, scheme) = (clients.next(), schemes.next());
                (client.is_some() || scheme.is_some()).then_some(Hop { client, scheme })
            });
            self.follow(hops, trusted);
        }
        self
    }

    /// Goes from proxy to proxy, as long as they are trusted.
    fn follow<'a>(&mut self, hops: impl Iterator<Item = Hop<'a>>, trusted: &[IpNet]) {
        for hop in hops {
            match hop.scheme {
                Some(scheme) if scheme.eq_ignore_ascii_case("https") => self.is_secure = true,
                Some(scheme) if scheme.eq_ignore_ascii_case("http") => self.is_secure = false,
                _ => {}
            }
            let Some(address) = hop.client.and_then(Address::parse) else {
                return;
            };
            self.address = Some(address);
            if !self.is_trusted(trusted) {
                return;
            }
        }
    }

    fn is_trusted(&self, trusted: &[IpNet]) -> bool {
        let contains = |address: Address| trusted.iter().any(|network| network.contains(&address.ip));
        self.address.is_some_and(contains)
    }

    pub(crate) fn address(&self) -> Option<String> {
        self.address.as_ref().map(ToString::to_string)
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }
}

/// An address whose port may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address {
    ip: IpAddr,
    port: Option<u16>,
}

/// One entry of the headers: the client of one proxy, as that proxy reports it.
#[derive(Clone, Copy, Default)]
struct Hop<'a> {
    client: Option<&'a str>,
    scheme: Option<&'a str>,
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The bytes of a header line that are read, from its end. Some hundred addresses fit.
const LONGEST: usize = 8 * 1024;

/// The lines of a header that are read, from the last.
const MOST_LINES: usize = 64;

impl Address {
    /// `192.0.2.7`, `192.0.2.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80`; a port may be hidden: `:_name`.
    fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Some(address.into());
        }
        let host = match text.rsplit_once(':') {
            Some((host, port)) if port.starts_with('_') => host,
            _ => text,
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let ip: IpAddr = bare.unwrap_or(host).parse().ok()?;
        Some(Self {
            ip: ip.to_canonical(),
            port: None,
        })
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self {
            // An IPv4 client of a socket for both families.
            ip: address.ip().to_canonical(),
            port: Some(address.port()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

/// The entries of a list header from the last to the first, over all its lines, without empty ones. The iterator ends early
/// at an entry that is not text, and where a line is too long.
fn entries(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).iter().rev().take(MOST_LINES);
    let entries = lines.flat_map(|line| {
        let line = line.as_bytes();
        let unread = line.len().saturating_sub(LONGEST);
        let mut rest = Some(&line[unread..]);
        std::iter::from_fn(move || {
            let (before, entry) = split_last(rest?, b',');
            rest = before;
            let is_whole = before.is_some() || unread == 0;
            Some(str::from_utf8(entry).ok().filter(|_| is_whole))
        })
    });
    let entries = entries.map_while(|entry| entry.map(str::trim)).fuse();
    entries.filter(|entry| !entry.is_empty())
}

/// The text before the last separator that is outside quotes, and the text behind it.
///
/// It reads from the right: quotes that a client left open, further left, change nothing.
fn split_last(text: &[u8], separator: u8) -> (Option<&[u8]>, &[u8]) {
    let mut in_quotes = false;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b'"' => {
                let escapes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                in_quotes = !in_quotes || escapes % 2 == 1;
            }
            byte if *byte == separator && !in_quotes => return (Some(&text[..at]), &text[at + 1..]),
            _ => {}
        }
    }
    (None, text)
}

/// An entry of `Forwarded`; `None` if it is malformed.
fn forwarded(entry: &str) -> Option<Hop<'_>> {
    let mut hop = Hop::default();
    let mut rest = Some(entry.as_bytes());
    while let Some(text) = rest {
        let (before, pair) = split_last(text, b';');
        rest = before;
        let (name, value) = str::from_utf8(pair).ok()?.split_once('=')?;
        let value = match value.trim().strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"')?,
            None => value.trim(),
        };
        let known = match name.trim() {
            name if name.eq_ignore_ascii_case("for") => &mut hop.client,
            name if name.eq_ignore_ascii_case("proto") => &mut hop.scheme,
            _ => continue,
        };
        if known.replace(value).is_some() {
            return None;
        }
    }
    Some(hop)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// The client behind the proxy 10.0.0.1, which is trusted with all of 10.0.0.0/8.
    fn client(headers: &[(&'static str, &str)]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        let peer = Peer::new("10.0.0.1:9".parse::<SocketAddr>().unwrap(), false);
        let client = peer.client(&map, &["10.0.0.0/8".parse().unwrap()]);
        format!("{} {}", client.scheme(), client.address().unwrap_or_default())
    }

    fn forwarded(value: &str) -> String {
        client(&[("forwarded", value)])
    }

    #[test]
    fn a_peer_that_is_not_trusted_is_the_client() {
        let headers = HeaderMap::from_iter([
            (FORWARDED, "for=192.0.2.7;proto=https".parse().unwrap()),
            (X_FORWARDED_FOR, "192.0.2.8".parse().unwrap()),
        ]);
        let address: SocketAddr = "11.0.0.1:9".parse().unwrap();
        for trusted in [&[][..], &["10.0.0.0/8".parse().unwrap()]] {
            let client = Peer::new(address, false).client(&headers, trusted);
            assert_eq!(
                (client.address().as_deref(), client.scheme()),
                (Some("11.0.0.1:9"), "http")
            );
        }
        let unknown = Peer::default().client(&headers, &["0.0.0.0/0".parse().unwrap()]);
        assert_eq!((unknown.address(), unknown.scheme()), (None, "http"));
    }

    #[test]
    fn an_ipv4_peer_of_a_socket_for_both_families_is_ipv4() {
        let peer = Peer::new("[::ffff:10.0.0.1]:9".parse::<SocketAddr>().unwrap(), true);
        let headers = HeaderMap::from_iter([(X_FORWARDED_FOR, "::ffff:192.0.2.7".parse().unwrap())]);
        assert_eq!(peer.client(&headers, &[]).address().as_deref(), Some("10.0.0.1:9"));
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let client = peer.client(&headers, &trusted);
        assert_eq!(
            (client.address().as_deref(), client.scheme()),
            (Some("192.0.2.7"), "https")
        );
    }

    #[test]
    fn the_last_hop_that_is_not_trusted_is_the_client() {
        assert_eq!(forwarded("for=192.0.2.7"), "http 192.0.2.7");
        assert_eq!(forwarded("for=192.0.2.7;proto=https;by=10.0.0.1"), "https 192.0.2.7");
        assert_eq!(
            forwarded("For=\"[2001:db8::7]:4711\" ; Proto=\"HTTPS\""),
            "https [2001:db8::7]:4711"
        );
        assert_eq!(forwarded("for=\"[2001:db8::7]\""), "http 2001:db8::7");
        assert_eq!(forwarded("for=\"192.0.2.7:_x\""), "http 192.0.2.7");
        // The client's own claim, its proxy, and a trusted one in the middle that speaks HTTP.
        let chain = "for=203.0.113.1;proto=http, for=192.0.2.7;proto=https, for=10.0.0.2;proto=http";
        assert_eq!(forwarded(chain), "https 192.0.2.7");
        let lines = [
            ("forwarded", "for=203.0.113.1, for=192.0.2.7"),
            ("forwarded", "for=10.0.0.2,"),
        ];
        assert_eq!(client(&lines), "http 192.0.2.7");
        assert_eq!(
            forwarded("for=10.0.0.3, for=10.0.0.2"),
            "http 10.0.0.3",
            "all are trusted"
        );
    }

    #[test]
    fn a_hidden_or_malformed_hop_ends_the_way() {
        for hidden in [
            "unknown",
            "_hidden",
            "\"_hidden:80\"",
            "",
            "192.0.2",
            "\"192.0.2.7",
            "1;for=192.0.2.7",
        ] {
            let value = format!("for=192.0.2.8, for={hidden}, for=10.0.0.2");
            assert_eq!(forwarded(&value), "http 10.0.0.2", "{value}");
        }
        assert_eq!(forwarded("for=192.0.2.8, garbage, for=10.0.0.2"), "http 10.0.0.2");
        assert_eq!(forwarded("for=_x;proto=https"), "https 10.0.0.1:9");
        assert_eq!(forwarded("proto=https"), "https 10.0.0.1:9");
        assert_eq!(forwarded(""), "http 10.0.0.1:9");
    }

    #[test]
    fn quotes_that_a_client_left_open_hide_nothing() {
        for open in ["\"", "for=\"", "for=\"\\", "for=\"a\\\""] {
            assert_eq!(forwarded(&format!("{open}, for=192.0.2.7")), "http 192.0.2.7", "{open}");
        }
        assert_eq!(
            forwarded("for=192.0.2.7;ext=\"a, \\\" for=1.1.1.1; b\""),
            "http 192.0.2.7"
        );
        let mut headers = HeaderMap::new();
        headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(b"\xff, 192.0.2.7").unwrap());
        let peer = Peer::new("10.0.0.1:9".parse::<SocketAddr>().unwrap(), false);
        let found = peer.client(&headers, &["10.0.0.1/32".parse().unwrap()]);
        assert_eq!(found.address().as_deref(), Some("192.0.2.7"));
    }

    #[test]
    fn the_older_headers_count_where_there_is_no_forwarded() {
        let (addresses, schemes) = ("x-forwarded-for", "x-forwarded-proto");
        let chain = "203.0.113.1, 192.0.2.7:80, 10.0.0.2";
        assert_eq!(client(&[(addresses, chain), (schemes, "https")]), "https 192.0.2.7:80");
        assert_eq!(
            client(&[(addresses, chain), (schemes, "http, https, http")]),
            "https 192.0.2.7:80"
        );
        assert_eq!(
            client(&[(addresses, "192.0.2.7"), (schemes, "https, http")]),
            "http 192.0.2.7"
        );
        assert_eq!(client(&[(schemes, "https")]), "https 10.0.0.1:9");
        assert_eq!(client(&[(schemes, "gopher")]), "http 10.0.0.1:9");
        assert_eq!(client(&[(addresses, "2001:db8::7")]), "http 2001:db8::7");
        let both = [
            (addresses, "192.0.2.8"),
            (schemes, "https"),
            ("forwarded", "for=192.0.2.7"),
        ];
        assert_eq!(client(&both), "http 192.0.2.7");
    }

    #[test]
    fn a_mile_of_hops_is_not_read_to_its_end() {
        let trusted = ", for=10.0.0.2".repeat(100_000);
        assert_eq!(forwarded(&format!("for=192.0.2.7{trusted}")), "http 10.0.0.2");
        let long = "x".repeat(1 << 20);
        assert_eq!(forwarded(&format!("for={long}")), "http 10.0.0.1:9");
        assert_eq!(forwarded(&format!("{long}, for=192.0.2.7")), "http 192.0.2.7");
        let lines: Vec<_> = (0..1000).map(|_| ("forwarded", "for=10.0.0.2")).collect();
        let lines: Vec<_> = std::iter::once(("forwarded", "for=192.0.2.7")).chain(lines).collect();
        assert_eq!(client(&lines), "http 10.0.0.2");
    }
}
