//! Warnings about declarations that are valid, but probably mistakes.

use std::collections::HashSet;

use pointwork_core::BodyMode;
use pointwork_core::routing::{ATTRIBUTE_METHODS, DeclaredRoute, MethodFilter};

/// One sentence for each handler whose method is probably a mistake. Any token is a method, and methods are
/// case-sensitive, so that such a route is valid, but no client requests it.
pub(crate) fn warnings<'a>(routes: impl IntoIterator<Item = &'a DeclaredRoute>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut warnings = Vec::new();
    for route in routes {
        let MethodFilter::Only(method) = &route.filter else {
            continue;
        };
        let Some(advice) = advice(method.as_str()) else {
            continue;
        };
        if seen.insert((route.handler, method)) {
            warnings.push(format!(
                "handler `{}` of controller `{}` answers only the method `{method}`; {advice}",
                route.handler_name, route.controller
            ));
        }
    }
    warnings
}

/// Languages whose components import only the functions that they use.
const IMPORT_WHAT_THEY_USE: [&str; 3] = ["rust", "c", "go"];

/// A sentence if the module reads a body chunk by chunk, and none of its routes takes bodies so.
pub(crate) fn unstreamed(
    opens_bodies: bool,
    language: &str,
    modes: impl IntoIterator<Item = BodyMode>,
) -> Option<String> {
    let mut modes = modes.into_iter().peekable();
    let applies = opens_bodies && IMPORT_WHAT_THEY_USE.contains(&language) && modes.peek().is_some();
    (applies && modes.all(|mode| mode != BodyMode::Stream)).then(|| {
        "the module imports `open-body`, and no route declares `stream`: each handler runs only when the whole body is there"
            .to_owned()
    })
}

/// A sentence if one slow upload takes the only call that the module serves at a time.
pub(crate) fn lone(calls: usize, modes: impl IntoIterator<Item = BodyMode>) -> Option<String> {
    let streams = modes.into_iter().any(|mode| mode == BodyMode::Stream);
    (streams && calls == 1).then(|| {
        "a route declares `stream`, and the module serves one call at a time: while a client sends its body, all routes of the \
         module answer 503; expected `instances` of at least 2"
            .to_owned()
    })
}

fn advice(method: &str) -> Option<String> {
    let upper = method.to_ascii_uppercase();
    if matches!(upper.as_str(), "ALL" | "ANY" | "*") {
        return Some("a declaration without a method answers every method".to_owned());
    }
    let is_mistake = upper != method && ATTRIBUTE_METHODS.contains(&upper.as_str());
    is_mistake.then(|| format!("methods are case-sensitive, and clients send `{upper}`"))
}

#[cfg(test)]
mod tests {
    use pointwork_core::routing::{ControllerDeclaration, RouteDeclaration, validate};

    use super::*;

    fn warned(method: Option<&str>) -> Vec<String> {
        let route = RouteDeclaration {
            handler: 0,
            name: "show".into(),
            method: method.map(str::to_owned),
            paths: vec!["a".into(), "b".into()],
        };
        let controller = ControllerDeclaration {
            name: "shop".into(),
            prefix: String::new(),
            routes: vec![route],
        };
        warnings(&validate("m", &[controller]).expect("a legal declaration"))
    }

    #[test]
    fn a_method_in_lower_case_is_warned_about_once_per_handler() {
        assert_eq!(
            warned(Some("get")),
            ["handler `show` of controller `shop` answers only the method `get`; \
             methods are case-sensitive, and clients send `GET`"]
        );
    }

    #[test]
    fn a_word_for_every_method_is_not_a_method() {
        for word in ["ALL", "any", "*"] {
            assert!(
                warned(Some(word))[0].ends_with("a declaration without a method answers every method"),
                "{word}"
            );
        }
    }

    #[test]
    fn opened_bodies_without_a_streaming_route_are_warned_of() {
        use BodyMode::{None, Stream, Whole};
        for (opens_bodies, language, modes, warned) in [
            (true, "rust", &[Whole, None][..], true),
            (true, "rust", &[Whole, Stream], false),
            (true, "rust", &[], false),
            (true, "javascript", &[Whole], false),
            (false, "rust", &[Whole], false),
        ] {
            let warning = unstreamed(opens_bodies, language, modes.iter().copied());
            assert_eq!(warning.is_some(), warned, "{opens_bodies} {language} {modes:?}");
        }
    }

    #[test]
    fn common_and_custom_methods_are_fine() {
        for method in [None, Some("GET"), Some("NOTIFY"), Some("mkworkspace")] {
            assert_eq!(warned(method), Vec::<String>::new());
        }
    }

    #[test]
    fn a_slow_upload_that_takes_the_whole_module_is_warned_about() {
        let modes = [BodyMode::Whole, BodyMode::Stream];
        assert!(lone(1, modes).is_some_and(|warning| warning.contains("`instances`")));
        assert_eq!(lone(2, modes), None);
        assert_eq!(lone(1, [BodyMode::Whole]), None);
    }
}
