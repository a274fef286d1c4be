//! Warnings about controllers and channels of a module in Rust that are not part of it.
//!
//! The SDK writes the place of each impl block into one section of the core module, and of those that `module!` lists into
//! another, with the place of the `module!`. A crate without a `module!` is a library, from which a module takes what it needs.

use std::collections::HashSet;

use wasmparser::{BinaryReaderError, Parser, Payload};

/// The sections of the SDK in a component's core modules.
#[derive(Debug, Default)]
struct Sections<'a> {
    declared: Vec<&'a [u8]>,
    listed: Vec<&'a [u8]>,
}

impl<'a> Sections<'a> {
    fn read(component: &'a [u8]) -> Result<Self, BinaryReaderError> {
        let mut sections = Self::default();
        for payload in Parser::new(0).parse_all(component) {
            if let Payload::CustomSection(section) = payload? {
                match section.name() {
                    "pointwork:declared" => sections.declared.push(section.data()),
                    "pointwork:listed" => sections.listed.push(section.data()),
                    _ => {}
                }
            }
        }
        Ok(sections)
    }
}

/// A warning for each controller and channel of the module's crate that is in no list. The component is one that
/// [`pointwork::inspect`] accepts; one in another language has no warnings.
pub(crate) fn warnings(component: &[u8]) -> Vec<String> {
    Sections::read(component).map_or_else(|_| Vec::new(), |sections| unlisted(&sections))
}

fn unlisted(sections: &Sections<'_>) -> Vec<String> {
    let (declared, listed) = (lines(&sections.declared), lines(&sections.listed));
    let crates: HashSet<&str> = listed
        .iter()
        .filter(|line| line.starts_with("in "))
        .copied()
        .map(crate_of)
        .collect();
    let listed: HashSet<&str> = listed.into_iter().collect();
    let mut unlisted: Vec<_> = declared
        .into_iter()
        .filter(|place| !listed.contains(place) && crates.contains(crate_of(place)))
        .collect();
    unlisted.sort_unstable();
    let shown = unlisted.iter().map(|place| {
        format!(
            "{place} is not part of the module; add it to the list of `module!`, or put `allow(dead_code)` on its block"
        )
    });
    shown.collect()
}

fn lines<'a>(sections: &[&'a [u8]]) -> Vec<&'a str> {
    let texts = sections.iter().filter_map(|section| str::from_utf8(section).ok());
    texts.flat_map(str::lines).collect()
}

/// The crate in ``controller `shop::orders::Orders` at src/orders.rs:7`` and ``in `shop` ``.
fn crate_of(line: &str) -> &str {
    let path = line.split('`').nth(1).unwrap_or_default();
    path.split("::").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_a_crate_with_a_module_have_to_be_listed() {
        let sections = Sections {
            declared: vec![
                b"controller `shop::Orders` at src/lib.rs:7\ncontroller `shop::Carts` at src/carts.rs:9\n",
                b"channel `library::Db` at library/src/lib.rs:3\n",
            ],
            listed: vec![b"in `shop::all`\ncontroller `shop::Orders` at src/lib.rs:7\n"],
        };
        assert_eq!(
            unlisted(&sections),
            [
                "controller `shop::Carts` at src/carts.rs:9 is not part of the module; add it to the list of `module!`, or put \
                 `allow(dead_code)` on its block"
            ]
        );
    }
}
