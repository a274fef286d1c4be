use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};

use crate::client::Asked;

/// A request in HTTP/1 by its parts, each of which may be malformed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The method.
    pub method: Vec<u8>,
    /// The target.
    pub target: Vec<u8>,
    /// Whether the version is HTTP/1.0.
    pub old: bool,
    /// The headers, in order.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The bytes after the head, as they are on the wire.
    pub rest: Vec<u8>,
}

impl Request {
    /// A request of HTTP/1.1 with a host.
    pub fn new(method: &str, target: impl Into<Vec<u8>>) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            old: false,
            headers: vec![(b"host".to_vec(), b"a".to_vec())],
            rest: Vec::new(),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Parses the output of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If the bytes are not a request.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.context("the head has no end")?;
        let mut lines = split(&bytes[..end], b"\r\n").into_iter();
        let line = lines.next().context("there is no request line")?;
        let (method, after) = cut(line, b' ').context("the request line has no space")?;
        let at = after.iter().rposition(|byte| *byte == b' ');
        let at = at.context("the request line has no version")?;
        let old = match &after[at + 1..] {
            b"HTTP/1.1" => false,
            b"HTTP/1.0" => true,
            other => bail!("`{}` is neither HTTP/1.1 nor HTTP/1.0", other.escape_ascii()),
        };
        let headers = lines.map(|line| {
            let (name, value) = cut(line, b':').context("a header has no colon")?;
            Ok((name.to_vec(), value.trim_ascii().to_vec()))
        });
        Ok(Self {
            method: method.to_vec(),
            target: after[..at].to_vec(),
            old,
            headers: headers.collect::<Result<_>>()?,
            rest: bytes[end + 4..].to_vec(),
        })
    }

    /// The bytes of the request.
    pub fn to_bytes(&self) -> Vec<u8> {
        let version: &[u8] = if self.old { b"HTTP/1.0" } else { b"HTTP/1.1" };
        let mut bytes = [&self.method, b" ".as_slice(), &self.target, b" ", version, b"\r\n"].concat();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(&[name, b": ".as_slice(), value, b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// The method as text.
    pub fn method(&self) -> String {
        String::from_utf8_lossy(&self.method).into_owned()
    }

    /// The values of all headers of that name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let of_name = self
            .headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        of_name.map(|(_, value)| value.as_slice())
    }

    /// Whether `connection` contains the token.
    fn says(&self, token: &str) -> bool {
        self.all("connection")
            .flat_map(|value| value.split(|byte| *byte == b','))
            .any(|said| said.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }

    /// Whether the server has to close the connection after the request.
    pub(super) fn is_last(&self) -> bool {
        self.says("close") || (self.old && !self.says("keep-alive"))
    }

    /// Whether every server has to parse it alike: only its path may be unusual.
    pub(super) fn is_plain(&self) -> bool {
        let usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"/%-._~!$&'()*+,;=:@?".contains(byte);
        let hosts: Vec<_> = self.all("host").collect();
        let codings: Vec<_> = self.all("transfer-encoding").collect();
        !self.old
            && self.method != b"CONNECT"
            && self
                .method
                .iter()
                .all(|byte| byte.is_ascii_uppercase() || *byte == b'-')
            && self.target.starts_with(b"/")
            && self.target.iter().all(usual)
            && hosts == [b"a"]
            && (codings.is_empty() || codings == [b"chunked"])
            && self.headers.iter().all(|(_, value)| value.is_ascii())
    }

    /// The parts of the request on which the framing of its reply depends.
    pub(super) fn asked<'a>(&self, method: &'a str) -> Asked<'a> {
        Asked {
            method,
            old: self.old,
            last: self.is_last(),
        }
    }

    /// The body, if the framing is valid.
    pub fn body(&self) -> Option<Vec<u8>> {
        if self.all("transfer-encoding").next().is_none() {
            return Some(self.rest.clone());
        }
        let (mut rest, mut body) = (self.rest.as_slice(), Vec::new());
        loop {
            let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
            body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
            rest = rest.get(end + 4 + size..)?;
            if size == 0 {
                return Some(body);
            }
        }
    }

    /// The same without a body.
    pub(super) fn without_body(mut self) -> Self {
        self.headers.retain(|(name, _)| {
            !name.eq_ignore_ascii_case(b"content-length") && !name.eq_ignore_ascii_case(b"transfer-encoding")
        });
        self.rest.clear();
        self
    }

    /// Parses bytes as [`Display`](fmt::Display) writes them: `\r`, `\n`, `\t`, `\\`, quotes and `\x` with two digits.
    ///
    /// # Errors
    /// If an escape is not one of these, or the bytes are not a request.
    pub fn from_escaped(text: &str) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut left = text.bytes();
        while let Some(byte) = left.next() {
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            bytes.push(match left.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(quoted @ (b'\\' | b'\'' | b'"')) => quoted,
                Some(b'x') => {
                    let digits = [left.next(), left.next()].map(Option::unwrap_or_default);
                    let digits = std::str::from_utf8(&digits).context("`\\x` needs two digits")?;
                    u8::from_str_radix(digits, 16).context("`\\x` needs two digits")?
                }
                _ => bail!("a backslash stands before something that it does not escape"),
            });
        }
        let request = Self::parse(&bytes)?;
        ensure!(
            request.to_bytes() == bytes,
            "the request is not written as the comparison writes it"
        );
        Ok(request)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_bytes().escape_ascii())
    }
}

fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn split<'a>(bytes: &'a [u8], at: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(found) = rest.windows(at.len()).position(|window| window == at) {
        pieces.push(&rest[..found]);
        rest = &rest[found + at.len()..];
    }
    pieces.push(rest);
    pieces
}
