//! Warnings about declarations that are valid, but probably mistakes.

use std::collections::HashSet;

use pointwork_core::routing::{ATTRIBUTE_METHODS, DeclaredRoute, MethodFilter};

/// One sentence for each handler whose method is probably a mistake. Any token is a method, and methods are
/// case-sensitive, so that such a route is valid, but no client requests it.
pub(crate) fn warnings(routes: &[DeclaredRoute]) -> Vec<String> {
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
    fn common_and_custom_methods_are_fine() {
        for method in [None, Some("GET"), Some("NOTIFY"), Some("mkworkspace")] {
            assert_eq!(warned(method), Vec::<String>::new());
        }
    }
}
