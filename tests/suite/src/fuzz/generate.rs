use std::collections::BTreeSet;

use fastrand::Rng;
use pointwork_core::routing::Pattern;

use super::{Line, METHODS, Request};

/// Texts for literals of patterns and segments of paths. There are few, so that they often match.
const LITERALS: [&str; 9] = ["a", "b", "a%2Fb", "%61", "é", ".", "..", "x.y", "a%20b"];

/// Segments that no pattern contains, well formed and malformed.
const ODD: [&[u8]; 32] = [
    b"",
    b".",
    b"..",
    b"...",
    b"%2e%2E",
    b"%2F",
    b"%2f%2F",
    b"a%2Fb",
    b"%00",
    b"%0d%0a",
    b"%",
    b"%4",
    b"%zz",
    b"%2541",
    b"%252F",
    b"%ff",
    b"%c3",
    b"%c3%A9",
    b"%c0%af",
    b"%ED%A0%80",
    b"\xc3\xa9",
    b"\xff",
    b"+",
    b"a+b",
    b";p=1",
    b"a:b",
    b"@",
    b"*",
    b":p",
    b"~!$&'()=,",
    b"[]|\\^`{}\"<>",
    b"\x01",
];

const QUERIES: [&[u8]; 14] = [
    b"",
    b"q",
    b"q=1&q=2",
    b"?",
    b"a?b/c",
    b"%zz",
    b"%ff%00",
    b"+%20",
    b"\xc3\xa9",
    b"\xff",
    b"'\"<>[]{}|\\^`",
    b"a=b;c=d",
    b"#fragment",
    b"&&==",
];

/// Methods of requests that no route has.
const STRANGE: [&str; 6] = ["M-SEARCH", "Get", "MKCOL", "UNBIND", "!#$%&'*+-.^_`|~", "PRI"];

/// A table without conflicts.
pub(super) fn table(rng: &mut Rng) -> Vec<Line> {
    let mut taken = BTreeSet::new();
    let mut lines = Vec::new();
    let wanted = rng.usize(1..12);
    while lines.len() < wanted {
        let mut path = String::new();
        for nth in 0..rng.usize(0..4) {
            path.push('/');
            if rng.u8(0..3) == 0 {
                path.push_str(&format!(":p{nth}"));
            } else {
                path.push_str(LITERALS[rng.usize(0..LITERALS.len())]);
            }
        }
        if rng.u8(0..5) == 0 {
            path.push_str("/*rest");
        }
        if path.is_empty() {
            path.push('/');
        }
        let method = match rng.u8(0..8) {
            0 | 1 => None,
            2..5 => Some("GET"),
            _ => Some(METHODS[rng.usize(0..METHODS.len())]),
        };
        let canonical = Pattern::parse(&path).map(|pattern| pattern.canonical().to_owned());
        if canonical.is_ok_and(|canonical| taken.insert((canonical, method))) {
            lines.push(Line { method, path });
        }
    }
    lines
}

/// A request that often matches a route of the table.
pub(super) fn request(rng: &mut Rng, lines: &[Line]) -> Request {
    let line = &lines[rng.usize(0..lines.len())];
    let method = match (line.method, rng.u8(0..10)) {
        (Some(method), 0..5) => method,
        (_, 9) => STRANGE[rng.usize(0..STRANGE.len())],
        (_, 8) => "GET",
        _ => METHODS[rng.usize(0..METHODS.len())],
    };
    let mut request = Request::new(method, target(rng, line, method));
    request.old = rng.u8(0..12) == 0;
    host(rng, &mut request);
    match rng.u8(0..10) {
        0..3 => request = request.header("connection", "close"),
        3 => request = request.header("Connection", "Keep-Alive"),
        4 => request = request.header("x-odd", b"\xe9 \xff\t!".as_slice()),
        _ => {}
    }
    body(rng, request)
}

fn host(rng: &mut Rng, request: &mut Request) {
    let value: &[u8] = match rng.u8(0..60) {
        0 => return request.headers.clear(),
        1 => return request.headers.push((b"Host".to_vec(), b"a".to_vec())),
        2 => b"",
        3 => b"a b",
        4 => b"user@host",
        5 => b"a:99999",
        6 => b"[::1]:80",
        7 => b"a/b",
        8 => b"\xff",
        _ => return,
    };
    request.headers[0].1 = value.to_vec();
}

fn body(rng: &mut Rng, request: Request) -> Request {
    let mut bytes = vec![0; rng.usize(0..40)];
    rng.fill(&mut bytes);
    match rng.u8(0..10) {
        0..2 => Request {
            rest: bytes.clone(),
            ..request.header("content-length", bytes.len().to_string())
        },
        2..4 if !request.old => {
            let mut rest = Vec::new();
            for chunk in bytes.chunks(rng.usize(1..20)) {
                rest.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                rest.extend_from_slice(chunk);
                rest.extend_from_slice(b"\r\n");
            }
            rest.extend_from_slice(b"0\r\n\r\n");
            Request {
                rest,
                ..request.header("transfer-encoding", "chunked")
            }
        }
        _ => request,
    }
}

fn target(rng: &mut Rng, line: &Line, method: &str) -> Vec<u8> {
    let path = path(rng, line);
    let mut target = match rng.u8(0..40) {
        0 => b"*".to_vec(),
        1 => b"host:80".to_vec(),
        2 => b"http://host".to_vec(),
        3 => [b"HTTP://host:80".as_slice(), &path].concat(),
        4 => [b"http://u:p@host".as_slice(), &path].concat(),
        5 => [b"ftp://host".as_slice(), &path].concat(),
        6 => path[1..].to_vec(),
        7 => [&path, b" x".as_slice()].concat(),
        8 => [b"/".as_slice(), &path].concat(),
        9..25 if method == "CONNECT" => b"host:80".to_vec(),
        9 | 10 if method == "OPTIONS" => b"*".to_vec(),
        _ => path,
    };
    if rng.u8(0..4) == 0 {
        target.push(b'?');
        target.extend_from_slice(QUERIES[rng.usize(0..QUERIES.len())]);
    }
    if target.is_empty() {
        target.push(b'/');
    }
    target
}

/// A path that matches the route, sometimes with a change.
fn path(rng: &mut Rng, line: &Line) -> Vec<u8> {
    let mut segments: Vec<Vec<u8>> = Vec::new();
    for segment in line.path.split('/').skip(1).filter(|segment| !segment.is_empty()) {
        match segment.as_bytes()[0] {
            b':' => segments.push(value(rng)),
            b'*' => segments.extend((0..rng.usize(1..4)).map(|_| value(rng))),
            // A letter may be percent-encoded.
            _ if rng.u8(0..4) == 0 => segments.push(segment.replace('a', "%61").into_bytes()),
            // Not every server accepts raw non-ASCII characters in a path.
            _ => segments.push(segment.replace('é', "%C3%A9").into_bytes()),
        }
    }
    let at = rng.usize(0..=segments.len());
    match rng.u8(0..24) {
        0..3 => segments.push(Vec::new()),
        3 | 4 => segments.insert(at, Vec::new()),
        5..8 => segments.insert(at, ODD[rng.usize(0..ODD.len())].to_vec()),
        8 => segments.insert(at, vec![b'l'; rng.usize(500..4000)]),
        9 => segments.insert(at, LITERALS[rng.usize(0..3)].as_bytes().to_vec()),
        10 => drop(segments.pop()),
        11 => segments.extend((0..rng.usize(20..200)).map(|_| b"s".to_vec())),
        _ => {}
    }
    let mut path: Vec<u8> = segments
        .iter()
        .flat_map(|segment| [b"/".as_slice(), segment].concat())
        .collect();
    if path.is_empty() {
        path.push(b'/');
    }
    path
}

fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(0..4) {
        0 => ODD[rng.usize(0..ODD.len())].to_vec(),
        1 => LITERALS[rng.usize(0..4)].as_bytes().to_vec(),
        _ => rng.u16(..).to_string().into_bytes(),
    }
}
