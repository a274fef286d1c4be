//! Controllers and channels that no `module!` lists.
//!
//! The SDK writes the place of each impl block into one section, and of those that `module!` lists into another, with the
//! place of the `module!`. A crate without a `module!` is a library, from which a module takes what it needs.

use std::collections::HashSet;

use super::binary::CoreModule;

pub(super) fn warnings(module: &CoreModule<'_>) -> Vec<String> {
    let (declared, listed) = (lines(&module.declared), lines(&module.listed));
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

/// The crate of the module.
pub(super) fn crate_of_module<'a>(module: &CoreModule<'a>) -> Option<&'a str> {
    let listed = lines(&module.listed);
    listed.into_iter().find(|line| line.starts_with("in ")).map(crate_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_a_crate_with_a_module_have_to_be_listed() {
        let module = CoreModule {
            declared: vec![
                b"controller `shop::Orders` at src/lib.rs:7\ncontroller `shop::Carts` at src/carts.rs:9\n",
                b"channel `library::Db` at library/src/lib.rs:3\n",
            ],
            listed: vec![b"in `shop::all`\ncontroller `shop::Orders` at src/lib.rs:7\n"],
            ..CoreModule::default()
        };
        assert_eq!(
            warnings(&module),
            [
                "controller `shop::Carts` at src/carts.rs:9 is not part of the module; add it to the list of `module!`, or put \
                 `allow(dead_code)` on its block"
            ]
        );
        assert_eq!(crate_of_module(&module), Some("shop"));
    }
}
