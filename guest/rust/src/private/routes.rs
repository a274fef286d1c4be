//! Two routes of a module that answer the same requests, found while the module compiles (spec P7).
//!
//! The host compares the routes of all modules when it loads one. Its rules hold here too: the names of parameters, a slash
//! at either end of a prefix or path, and percent-encoding make no difference.

use super::module::DeclaredController;
use super::text::same;

/// The number of routes of a module. Each path of a handler is a route.
pub const fn count(controllers: &[DeclaredController]) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < controllers.len() {
        let routes = controllers[at].routes;
        let mut route = 0;
        while route < routes.len() {
            count += routes[route].paths.len() + 1;
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
            let paths = match controller.routes[route].paths {
                [] => &[""],
                paths => paths,
            };
            let mut path = 0;
            while path < paths.len() {
                let declared = Declared {
                    method: controller.routes[route].method,
                    prefix: controller.prefix,
                    path: paths[path],
                    controller: controller.name,
                    handler: controller.routes[route].name,
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
    method: Option<&'static str>,
    prefix: &'static str,
    path: &'static str,
    controller: &'static str,
    handler: &'static str,
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
    const fn symbols(&self) -> Symbols {
        Symbols {
            parts: [self.prefix.as_bytes(), self.path.as_bytes()],
            part: 0,
            at: 0,
            begins: true,
        }
    }

    /// FNV-1a.
    const fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let mut symbols = self.symbols();
        while let Some(symbol) = symbols.next() {
            hash = (hash ^ symbol as u64).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(method) = self.method {
            let bytes = method.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
                at += 1;
            }
        }
        hash
    }

    const fn is_same(&self, other: &Self) -> bool {
        let same_method = match (self.method, other.method) {
            (Some(one), Some(other)) => same(one.as_bytes(), other.as_bytes()),
            (None, None) => true,
            _ => false,
        };
        if !same_method {
            return false;
        }
        let (mut one, mut other) = (self.symbols(), other.symbols());
        loop {
            match (one.next(), other.next()) {
                (None, None) => return true,
                (Some(one), Some(other)) if one == other => {}
                _ => return false,
            }
        }
    }
}

/// The symbols of prefix and path together: bytes of literals, decoded, and these.
const SEGMENT: u16 = 256;
const PARAMETER: u16 = 257;
const REST: u16 = 258;

struct Symbols {
    parts: [&'static [u8]; 2],
    part: usize,
    at: usize,
    /// Whether a segment begins, or a part.
    begins: bool,
}

impl Symbols {
    const fn next(&mut self) -> Option<u16> {
        while self.part < self.parts.len() {
            let text = self.parts[self.part];
            let is_slash = self.at < text.len() && text[self.at] == b'/';
            if self.at >= text.len() || is_slash && self.at + 1 == text.len() {
                self.part += 1;
                self.at = 0;
                self.begins = true;
            } else if is_slash {
                self.at += 1;
                self.begins = true;
            } else if self.begins {
                self.begins = false;
                return Some(SEGMENT);
            } else {
                return Some(self.symbol(text));
            }
        }
        None
    }

    /// A parameter without its name, or a byte of a literal.
    const fn symbol(&mut self, text: &[u8]) -> u16 {
        let first = text[self.at];
        let kind = match first {
            b':' => PARAMETER,
            b'*' => REST,
            b'%' if self.at + 2 < text.len() => {
                self.at += 3;
                return hex(text[self.at - 2]) * 16 + hex(text[self.at - 1]);
            }
            _ => {
                self.at += 1;
                return first as u16;
            }
        };
        while self.at < text.len() && text[self.at] != b'/' {
            self.at += 1;
        }
        kind
    }
}

const fn hex(digit: u8) -> u16 {
    match (digit as char).to_digit(16) {
        Some(value) => value as u16,
        None => 0,
    }
}

/// The parts of the message.
pub const PARTS: usize = 19;

const fn message(later: &Declared, earlier: &Declared) -> [&'static str; PARTS] {
    let method = match later.method {
        Some(method) => method,
        None => "ALL",
    };
    let [prefix, slash, path] = shown(later);
    let [other_prefix, other_slash, other_path] = shown(earlier);
    [
        "route `",
        method,
        " /",
        prefix,
        slash,
        path,
        "` of `",
        later.controller,
        ".",
        later.handler,
        "` answers the same requests as `/",
        other_prefix,
        other_slash,
        other_path,
        "` of `",
        earlier.controller,
        ".",
        earlier.handler,
        "`, expected one of them",
    ]
}

/// The path without the slash at its beginning.
const fn shown(declared: &Declared) -> [&'static str; 3] {
    let (prefix, path) = (trimmed(declared.prefix), trimmed(declared.path));
    let slash = if prefix.is_empty() || path.is_empty() { "" } else { "/" };
    [prefix, slash, path]
}

const fn trimmed(text: &'static str) -> &'static str {
    let mut text = text;
    while let [b'/', ..] = text.as_bytes() {
        text = text.split_at(1).1;
    }
    while let [.., b'/'] = text.as_bytes() {
        text = text.split_at(text.len() - 1).0;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{conflict, count};
    use crate::__private::DeclaredController;
    use crate::Route;

    type Routes = &'static [(Option<&'static str>, &'static [&'static str])];

    /// The message about the routes of two controllers, with these prefixes.
    fn found([one, other]: [&'static str; 2], routes: Routes, others: Routes) -> Option<String> {
        let controller = |name, prefix, routes: Routes| DeclaredController {
            name,
            prefix,
            handlers: 0,
            routes: routes
                .iter()
                .map(|&(method, paths)| Route {
                    handler: 0,
                    name: "show",
                    method,
                    paths,
                    body: "whole",
                    metadata: &[],
                })
                .collect::<Vec<_>>()
                .leak(),
            metadata: &[],
            events_used: &[],
            place: "",
            blocking: None,
        };
        let controllers = [controller("One", one, routes), controller("Other", other, others)];
        assert!(count(&controllers) < 16);
        conflict::<16>(&controllers).map(|parts| parts.concat())
    }

    const GET: Option<&str> = Some("GET");

    #[test]
    fn the_same_shape_is_found_across_controllers() {
        let message = found(
            ["products", "/"],
            &[(GET, &["a", ":id"])],
            &[(GET, &["other", "/products/:name/"])],
        );
        assert_eq!(
            message.as_deref(),
            Some(
                "route `GET /products/:name` of `Other.show` answers the same requests as `/products/:id` of `One.show`, \
                 expected one of them"
            )
        );
        for (prefixes, one, other) in [
            (["a", "a"], "", "/"),
            (["/a/", ""], "b", "a/b"),
            (["a/b", "a"], "", "b"),
            (["", ""], "caf%C3%A9", "café"),
            (["", ""], "%2f", "%2F"),
            (["", ""], ":a/*b", ":c/*d"),
        ] {
            let paths = |path| -> Routes { vec![(GET, &*vec![path].leak())].leak() };
            assert!(found(prefixes, paths(one), paths(other)).is_some(), "{one} {other}");
        }
    }

    #[test]
    fn a_prefix_alone_and_every_method_conflict_with_themselves_only() {
        assert!(found(["a", ""], &[(GET, &[])], &[(GET, &["a"])]).is_some());
        assert!(found(["a", ""], &[(None, &[])], &[(None, &["a"])]).is_some());
        assert!(found(["a", ""], &[(None, &[])], &[(GET, &["a"])]).is_none());
    }

    #[test]
    fn other_methods_and_shapes_are_no_conflict() {
        const ONE: Routes = &[(GET, &["a", ":id", "a/b"])];
        const OTHER: Routes = &[(Some("HEAD"), &["a"]), (GET, &["*rest", "ab", "A"])];
        assert_eq!(found(["", ""], ONE, OTHER), None);
        assert_eq!(
            found(["", ""], &[(GET, &["a/:x/b"])], &[(GET, &["a/:y/c", "a%2Fb"])]),
            None
        );
    }
}
