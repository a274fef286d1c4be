//! The targets of the routing: each takes any bytes, and panics where a promise of the routing does not hold. The tests of
//! the core run them on their seeds.

use pointwork_core::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use pointwork_core::http::request::Parts;
use pointwork_core::http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use pointwork_core::routing::{
    MethodFilter, Owner, Pattern, Refusal, Resolution, RouteEntry, Segment, Shape, ShapeId, Table, TableOptions,
    TrailingSlash, guard, is_unprintable,
};

/// The most routes and requests of one input: the work for one stays small.
const MOST: usize = 64;

/// A prefix and a path, on a line each: [`Pattern::join`].
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn pattern(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (prefix, path) = text.split_once('\n').unwrap_or(("", &text));
    let pattern = match Pattern::join(prefix, path) {
        Ok(pattern) => pattern,
        Err(error) => {
            assert!(error.position() <= error.text().len(), "{error:?}");
            assert!([prefix, path].contains(&error.text()), "{error:?}");
            one_line(&error.to_string());
            return;
        }
    };
    let text = pattern.as_str();
    assert!(text.starts_with('/'), "{text}");
    assert!(text == "/" || !text.ends_with('/'), "{text}");
    let again = Pattern::parse(text).expect("an accepted pattern is read again");
    assert_eq!((again.as_str(), &again), (text, &pattern));
    let canonical = Pattern::parse(pattern.canonical()).expect("the canonical text is a pattern");
    assert_eq!(canonical.canonical(), pattern.canonical());
    assert!(canonical.cmp_precedence(&pattern).is_eq(), "{text}");

    let names = pattern.param_names();
    let mut unique = names.to_vec();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{text}");
    let is_rest = |segment: &Segment| matches!(segment, Segment::Rest(_));
    let before_last = pattern.segments().split_last().map_or(&[][..], |(_, before)| before);
    assert!(!before_last.iter().any(is_rest), "{text}");

    let table = compile(vec![entry(MethodFilter::All, pattern.clone())], TableOptions::new());
    found(&table, &Method::GET, &pattern);
}

/// Lines of a method or `ALL` and a path, each a route; an empty line; then lines of a method and a target, each a
/// request. A table resolves what it accepted, and the hint does not matter.
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn table(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (routes, requests) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut entries: Vec<RouteEntry<()>> = Vec::new();
    for line in routes.lines().take(MOST) {
        let (method, path) = line.split_once(' ').unwrap_or(("ALL", line));
        let filter = MethodFilter::parse((method != "ALL").then_some(method));
        if let (Ok(filter), Ok(pattern)) = (filter, Pattern::parse(path)) {
            entries.push(entry(filter, pattern));
        }
    }
    if let Err(conflicts) = Table::compile(entries.clone(), TableOptions::new()) {
        one_line_each(&conflicts.to_string());
        for conflict in conflicts.list() {
            let (later, earlier) = (&conflict.later().pattern, &conflict.earlier().pattern);
            assert_eq!(later.canonical(), earlier.canonical());
        }
        // Without the routes that repeat an earlier one there is no conflict.
        let mut kept: Vec<RouteEntry<()>> = Vec::new();
        for entry in entries {
            let is_same = |other: &RouteEntry<()>| {
                other.filter == entry.filter && other.pattern.canonical() == entry.pattern.canonical()
            };
            if !kept.iter().any(is_same) {
                kept.push(entry);
            }
        }
        entries = kept;
    }
    let distinct = compile(entries.clone(), TableOptions::new());
    let matching = compile(entries, TableOptions::new().trailing_slash(TrailingSlash::Match));
    for entry in distinct.routes() {
        let method = match &entry.filter {
            MethodFilter::All => Method::GET,
            MethodFilter::Only(method) => method.clone(),
        };
        found(&distinct, &method, &entry.pattern);
    }
    // A hint may be of a table that has more shapes.
    let numbered = |number| Pattern::parse(&format!("/{number}")).expect("a number is a literal");
    let hints = (0..=MOST).map(|number| entry(MethodFilter::All, numbered(number)));
    let hints = compile(hints.collect(), TableOptions::new());
    for line in requests.lines().take(MOST) {
        let (method, target) = line.split_once(' ').unwrap_or(("GET", line));
        let (Ok(method), Ok(uri)) = (method.parse(), target.parse()) else {
            continue;
        };
        for table in [&distinct, &matching] {
            let answer = told(table, None, &method, &uri);
            for hint in hints.shapes().iter().take(table.shapes().len() + 1).map(Shape::id) {
                assert_eq!(told(table, Some(hint), &method, &uri), answer, "{hint:?}");
            }
        }
    }
}

/// A line of a version and a target, then a header on each line: [`guard::check`].
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn guard(input: &[u8]) {
    let Some(head) = head(input) else { return };
    if let Err(refusal) = guard::check(&head) {
        let expected = if refusal == Refusal::UnknownCoding { 501 } else { 400 };
        assert_eq!(refusal.status(), expected, "{refusal:?}");
        one_line(refusal.reason());
        return;
    }
    let all = |name: HeaderName| -> Vec<_> { head.headers.get_all(name).iter().map(HeaderValue::as_bytes).collect() };
    let (hosts, lengths, codings) = (all(HOST), all(CONTENT_LENGTH), all(TRANSFER_ENCODING));
    assert!(hosts.len() <= 1, "several hosts");
    if head.version >= Version::HTTP_11 {
        assert!(!hosts.is_empty() || head.uri.authority().is_some(), "no host");
    }
    for byte in hosts.concat() {
        assert!(byte.is_ascii_graphic() && !b"@/?#\\\"<>".contains(&byte), "a bad host");
    }
    assert!(lengths.len() <= 1, "several lengths");
    for length in &lengths {
        let text = std::str::from_utf8(length).expect("a length is a number");
        assert!(text.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
        text.parse::<u64>().expect("a length has at most 64 bits");
        assert!(codings.is_empty(), "a length and a coding");
    }
    if !codings.is_empty() {
        assert_eq!(head.version, Version::HTTP_11);
        let codings = codings.join(&b","[..]).to_ascii_lowercase();
        let named: Vec<_> = codings
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .filter(|coding| !coding.is_empty())
            .collect();
        assert_eq!(named, [b"chunked"], "the end of the body is unknown");
    }
    if head.version >= Version::HTTP_2 {
        for name in [
            "connection",
            "keep-alive",
            "proxy-connection",
            "upgrade",
            "transfer-encoding",
        ] {
            assert!(!head.headers.contains_key(name), "{name}");
        }
    }
}

fn head(input: &[u8]) -> Option<Parts> {
    let mut lines = input.split(|byte| *byte == b'\n');
    let line = std::str::from_utf8(lines.next()?).ok()?;
    let (version, target) = line.split_once(' ')?;
    let version = match version {
        "1.0" => Version::HTTP_10,
        "2" => Version::HTTP_2,
        "3" => Version::HTTP_3,
        _ => Version::HTTP_11,
    };
    let (mut head, ()) = Request::builder()
        .version(version)
        .uri(target)
        .body(())
        .ok()?
        .into_parts();
    for line in lines.take(MOST) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            head.headers.append(name, value);
        }
    }
    Some(head)
}

fn entry(filter: MethodFilter, pattern: Pattern) -> RouteEntry<()> {
    RouteEntry {
        filter,
        pattern,
        owner: Owner::module("m", "c", "h"),
        target: (),
    }
}

fn compile(entries: Vec<RouteEntry<()>>, options: TableOptions) -> Table<()> {
    Table::compile(entries, options).unwrap_or_else(|conflicts| panic!("{conflicts}"))
}

/// A request for the pattern is answered by its route or by one that precedes it.
fn found(table: &Table<()>, method: &Method, pattern: &Pattern) {
    // A canonical text names its parameters by their position.
    let path = pattern.canonical().replace("/:", "/").replace("/*", "/");
    let Ok(uri) = path.parse::<Uri>() else {
        // The library has a limit for the length of a target.
        assert!(path.len() > 60_000, "{path} is no target");
        return;
    };
    match table.resolve(None, method, &uri) {
        Resolution::Matched { entry, params, .. } => {
            assert!(
                entry.pattern.cmp_precedence(pattern).is_le(),
                "{path} by {}",
                entry.pattern
            );
            assert_eq!(params.iter().count(), entry.pattern.param_names().len(), "{path}");
        }
        other => panic!("{method} {path} is {other:?}"),
    }
}

fn told(table: &Table<()>, hint: Option<ShapeId>, method: &Method, uri: &Uri) -> String {
    match table.resolve(hint, method, uri) {
        Resolution::Matched { route, params, .. } => {
            let params: Vec<_> = params.iter().collect();
            format!("{route} {params:?}")
        }
        other => format!("{other:?}"),
    }
}

/// A message stands in one line of a log.
fn one_line(message: &str) {
    assert!(!message.is_empty());
    assert!(!message.contains(is_unprintable), "{message:?}");
}

fn one_line_each(message: &str) {
    message.lines().for_each(one_line);
}
