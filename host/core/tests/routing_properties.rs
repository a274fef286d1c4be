//! The matcher against a naive one that tries every route in turn, on random tables and paths.
//!
//! Each run tries others; a failure prints its input, made as small as possible, and `PROPTEST_RNG_SEED` fixes what is tried.

use http::{Method, Uri};
use percent_encoding::percent_decode_str;
use pointwork_core::routing::{
    MethodFilter, Owner, Pattern, Resolution, RouteEntry, Segment, ShapeId, Table, TableOptions, TrailingSlash,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The answer, in a form that two matchers can be compared by.
#[derive(Debug, PartialEq)]
enum Answer {
    Route {
        index: usize,
        params: Vec<String>,
        head_of_get: bool,
    },
    NotFound,
    NotAllowed(String),
    Options(String),
    Bad,
}

fn ask(table: &Table<usize>, hint: Option<ShapeId>, method: &Method, uri: &Uri) -> Answer {
    match table.resolve(hint, method, uri) {
        Resolution::Matched {
            entry,
            params,
            head_of_get,
            shape,
            ..
        } => {
            assert!(table.shapes()[shape.index()].routes().contains(&entry.target));
            let params = params.iter().map(|(_, value)| value.to_owned()).collect();
            Answer::Route {
                index: entry.target,
                params,
                head_of_get,
            }
        }
        Resolution::NotFound => Answer::NotFound,
        Resolution::MethodNotAllowed { allow } => Answer::NotAllowed(allow.to_str().unwrap().to_owned()),
        Resolution::Options { allow } => Answer::Options(allow.to_str().unwrap().to_owned()),
        Resolution::BadRequest(_) => Answer::Bad,
        other => panic!("{other:?}"),
    }
}

/// What the pattern captures from the path if it matches, by splitting and comparing.
fn captures(pattern: &Pattern, path: &str) -> Option<Vec<String>> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let mut left: Vec<&str> = if path == "/" {
        vec![]
    } else {
        path[1..].split('/').collect()
    };
    let mut captured = Vec::new();
    for segment in pattern.segments() {
        if left.is_empty() {
            return None;
        }
        match segment {
            Segment::Rest(_) => {
                captured.push(decode(&left.join("/")));
                return captured.last().is_some_and(|rest| !rest.is_empty()).then_some(captured);
            }
            Segment::Param(_) if left[0].is_empty() => return None,
            Segment::Param(_) => captured.push(decode(left[0])),
            Segment::Literal(text) if **text != decode(left[0]) => return None,
            Segment::Literal(_) => {}
        }
        left.remove(0);
    }
    left.is_empty().then_some(captured)
}

/// The rule of the routing module, word by word.
fn naive(table: &Table<usize>, method: &Method, path: &str) -> Answer {
    let path = match table.options().trailing_slash {
        TrailingSlash::Match if path.len() > 1 && !path.ends_with("//") => path.strip_suffix('/').unwrap_or(path),
        _ => path,
    };
    let mut matching: Vec<_> = table
        .routes()
        .iter()
        .filter_map(|entry| captures(&entry.pattern, path).map(|params| (entry, params)))
        .collect();
    matching.sort_by(|(one, _), (other, _)| one.pattern.cmp_precedence(&other.pattern));
    for shape in matching.chunk_by(|(one, _), (other, _)| one.pattern.canonical() == other.pattern.canonical()) {
        let only = |wanted: &Method| {
            shape
                .iter()
                .find(|(entry, _)| entry.filter == MethodFilter::Only(wanted.clone()))
        };
        let of_get = if method == Method::HEAD {
            only(&Method::GET)
        } else {
            None
        };
        let all = || shape.iter().find(|(entry, _)| entry.filter == MethodFilter::All);
        let head_of_get = only(method).is_none() && of_get.is_some();
        if let Some((entry, params)) = only(method).or(of_get).or_else(all) {
            return Answer::Route {
                index: entry.target,
                params: params.clone(),
                head_of_get,
            };
        }
    }
    if matching.is_empty() {
        return Answer::NotFound;
    }
    let mut allow: Vec<_> = matching.iter().map(|(entry, _)| entry.filter.to_string()).collect();
    if allow.iter().any(|method| method == "GET") {
        allow.push("HEAD".to_owned());
    }
    allow.push("OPTIONS".to_owned());
    allow.sort();
    allow.dedup();
    let allow = allow.join(", ");
    if method == Method::OPTIONS {
        Answer::Options(allow)
    } else {
        Answer::NotAllowed(allow)
    }
}

/// Few texts, so that routes and paths meet often.
fn pattern() -> impl Strategy<Value = String> {
    let segment = select(vec!["a", "b", "a%2Fb", "%61", "é", ":", ":", "."]);
    (vec(segment, 0..5), any::<bool>()).prop_map(|(segments, rest)| {
        let mut text = String::from("/");
        for (index, segment) in segments.iter().enumerate() {
            let name = if *segment == ":" {
                format!("x{index}")
            } else {
                String::new()
            };
            text.push_str(&format!("{segment}{name}/"));
        }
        if rest { text + "*rest" } else { text }
    })
}

fn method() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![
        None,
        Some("GET"),
        Some("GET"),
        Some("HEAD"),
        Some("OPTIONS"),
        Some("PUT"),
        Some("NOTIFY"),
    ])
}

fn path() -> impl Strategy<Value = String> {
    let segment = select(vec![
        "a", "a", "b", "b", "c", "", "a%2Fb", "%61", "%C3%A9", "é", "%2f", "%2561", ".", "..",
    ]);
    (vec(segment, 0..6), any::<bool>())
        .prop_map(|(segments, slash)| format!("/{}{}", segments.join("/"), if slash { "/" } else { "" }))
}

fn table() -> impl Strategy<Value = Table<usize>> {
    (vec((method(), pattern()), 0..24), any::<bool>()).prop_map(|(routes, slash)| {
        let mut entries: Vec<RouteEntry<usize>> = Vec::new();
        for (method, path) in routes {
            let filter = MethodFilter::parse(method).unwrap();
            let pattern = Pattern::parse(&path).unwrap();
            let taken =
                |entry: &RouteEntry<usize>| entry.filter == filter && entry.pattern.canonical() == pattern.canonical();
            if !entries.iter().any(taken) {
                entries.push(RouteEntry {
                    filter,
                    pattern,
                    owner: Owner::Manual,
                    target: entries.len(),
                });
            }
        }
        let slash = if slash {
            TrailingSlash::Match
        } else {
            TrailingSlash::Distinct
        };
        Table::compile(entries, TableOptions::default().trailing_slash(slash)).unwrap()
    })
}

fn request_method() -> impl Strategy<Value = Method> {
    select(vec!["GET", "HEAD", "OPTIONS", "PUT", "NOTIFY", "PURGE"])
        .prop_map(|name| Method::from_bytes(name.as_bytes()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_trie_agrees_with_a_linear_search_whatever_the_hint(
        table in table(),
        requests in vec((request_method(), path()), 1..16),
    ) {
        for (method, path) in requests {
            let uri = Uri::try_from(format!("{path}?/q=%zz")).unwrap();
            let expected = naive(&table, &method, &path);
            prop_assert_eq!(ask(&table, None, &method, &uri), expected, "{} {}", method, path);
            for shape in table.shapes() {
                let expected = ask(&table, None, &method, &uri);
                prop_assert_eq!(ask(&table, Some(shape.id()), &method, &uri), expected, "{} {}", method, path);
            }
        }
    }

    #[test]
    fn any_target_gets_the_same_answer_with_any_hint(
        table in table(),
        method in request_method(),
        target in "(/[ab%/.0-9A-Fé]{0,12}|\\*|[a-z]{1,3})",
    ) {
        let Ok(uri) = Uri::try_from(target) else { return Ok(()) };
        let answer = ask(&table, None, &method, &uri);
        for shape in table.shapes() {
            prop_assert_eq!(&ask(&table, Some(shape.id()), &method, &uri), &answer);
        }
    }

    #[test]
    fn no_text_makes_a_pattern_panic(text in "\\PC{0,24}", path in "[:*/%a-z0-9 ?#-]{0,24}") {
        for result in [Pattern::parse(&text), Pattern::parse(&path), Pattern::join(&path, &text)] {
            match result {
                Ok(pattern) => {
                    prop_assert!(pattern.as_str().starts_with('/'));
                    prop_assert!(pattern.as_str() == "/" || !pattern.as_str().ends_with('/'));
                    prop_assert_eq!(&Pattern::parse(pattern.as_str()).unwrap(), &pattern);
                    let canonical = Pattern::parse(pattern.canonical()).unwrap();
                    prop_assert_eq!(canonical.as_str(), pattern.canonical());
                }
                Err(error) => {
                    prop_assert!(error.position() <= error.text().len());
                    prop_assert!(error.text().is_char_boundary(error.position()));
                }
            }
        }
    }
}
