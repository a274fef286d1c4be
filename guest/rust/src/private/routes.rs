//! Two routes of a module that answer the same requests, found while the module compiles.
//!
//! The macro of each controller has read its paths by the grammar of the host. The methods are known here.

use super::module::DeclaredController;
use super::text::same;
use crate::controller::Route;

/// The number of routes of a module. Each path of a handler is a route.
pub const fn count(controllers: &[DeclaredController]) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < controllers.len() {
        let routes = controllers[at].routes;
        let mut route = 0;
        while route < routes.len() {
            count += routes[route].patterns.len();
            route += 1;
        }
        at += 1;
    }
    count
}

/// The parts of a message about the first route that answers the same requests as one before it. `SLOTS` is more than the
/// number of routes.
///
/// A route is looked up by its hash: the compiler bounds the steps of a constant, and a module may have many routes.
pub const fn conflict<const SLOTS: usize>(controllers: &[DeclaredController]) -> Option<[&'static str; PARTS]> {
    let mut seen = [None; SLOTS];
    let mut at = 0;
    while at < controllers.len() {
        let controller = &controllers[at];
        let mut route = 0;
        while route < controller.routes.len() {
            let mut path = 0;
            while path < controller.routes[route].patterns.len() {
                let declared = Declared {
                    controller: controller.name,
                    route: &controller.routes[route],
                    pattern: controller.routes[route].patterns[path],
                };
                if let Some(earlier) = remember(&mut seen, declared) {
                    return Some(message(&declared, &earlier));
                }
                path += 1;
            }
            route += 1;
        }
        at += 1;
    }
    None
}

#[derive(Clone, Copy)]
struct Declared {
    controller: &'static str,
    route: &'static Route,
    /// As written, and canonical.
    pattern: (&'static str, &'static str),
}

/// Adds a route, unless an earlier one answers the same requests, which is returned.
const fn remember(seen: &mut [Option<Declared>], declared: Declared) -> Option<Declared> {
    let mut slot = (declared.hash() % seen.len() as u64) as usize;
    while let Some(earlier) = seen[slot] {
        if earlier.is_same(&declared) {
            return Some(earlier);
        }
        slot = (slot + 1) % seen.len();
    }
    seen[slot] = Some(declared);
    None
}

impl Declared {
    const fn method(&self) -> &'static str {
        match self.route.method {
            Some(method) => method,
            None => "ALL",
        }
    }

    /// FNV-1a.
    const fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let texts = [self.pattern.1.as_bytes(), self.method().as_bytes()];
        let (mut text, mut at) = (0, 0);
        while text < texts.len() {
            if at < texts[text].len() {
                hash = (hash ^ texts[text][at] as u64).wrapping_mul(0x0100_0000_01b3);
                at += 1;
            } else {
                (text, at) = (text + 1, 0);
            }
        }
        hash
    }

    const fn is_same(&self, other: &Self) -> bool {
        // A method may be named `ALL`, as every method is shown.
        self.route.method.is_some() == other.route.method.is_some()
            && same(self.method().as_bytes(), other.method().as_bytes())
            && same(self.pattern.1.as_bytes(), other.pattern.1.as_bytes())
    }
}

/// The parts of the message.
pub const PARTS: usize = 15;

const fn message(later: &Declared, earlier: &Declared) -> [&'static str; PARTS] {
    [
        "route `",
        later.method(),
        " ",
        later.pattern.0,
        "` of `",
        later.controller,
        ".",
        later.route.name,
        "` answers the same requests as `",
        earlier.pattern.0,
        "` of `",
        earlier.controller,
        ".",
        earlier.route.name,
        "`, expected one of them",
    ]
}

#[cfg(test)]
mod tests {
    use super::{conflict, count};
    use crate::__private::DeclaredController;
    use crate::Route;

    /// The method of a route, the patterns that it would have, and the canonical text of each.
    type Routes = &'static [(Option<&'static str>, &'static [(&'static str, &'static str)])];

    /// The message about the routes of two controllers.
    fn found(routes: Routes, others: Routes) -> Option<String> {
        let controller = |name, routes: Routes| DeclaredController {
            name,
            prefix: "",
            handlers: 0,
            routes: routes
                .iter()
                .map(|&(method, patterns)| Route {
                    handler: 0,
                    name: "show",
                    method,
                    paths: &[],
                    patterns,
                    body: "whole",
                    metadata: &[],
                })
                .collect::<Vec<_>>()
                .leak(),
            metadata: &[],
            events_used: &[],
            place: "",
            blocking: None,
            takes_context: None,
            guards: &[],
        };
        let controllers = [controller("One", routes), controller("Other", others)];
        assert!(count(&controllers) < 16);
        conflict::<16>(&controllers).map(|parts| parts.concat())
    }

    const GET: Option<&str> = Some("GET");

    #[test]
    fn the_same_shape_is_found_across_controllers() {
        let message = found(
            &[(GET, &[("/a", "/a"), ("/products/:id", "/products/:p1")])],
            &[(GET, &[("/b", "/b"), ("/products/:name", "/products/:p1")])],
        );
        assert_eq!(
            message.as_deref(),
            Some(
                "route `GET /products/:name` of `Other.show` answers the same requests as `/products/:id` of `One.show`, \
                 expected one of them"
            )
        );
    }

    #[test]
    fn other_methods_and_shapes_are_no_conflict() {
        const A: &[(&str, &str)] = &[("/a", "/a")];
        assert!(found(&[(None, A)], &[(None, A)]).is_some());
        assert_eq!(
            found(&[(None, A)], &[(GET, A), (Some("HEAD"), A), (Some("ALL"), A)]),
            None
        );
        assert_eq!(
            found(&[(GET, A)], &[(GET, &[("/A", "/A"), ("/a/:id", "/a/:p1")])]),
            None
        );
    }
}
