//! The reader of the crates' structure, on small crates that are made up.

use std::collections::BTreeMap;

use pointwork_rules::structure::Crate;
use pointwork_rules::structure::read::read;

fn made_up(files: &[(&str, &str)]) -> Crate {
    let files: BTreeMap<_, _> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    read("host/made-up", &files).unwrap()
}

/// The arrows, each as `from -> to: names`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let arrows = made_up(files).arrows().into_iter();
    arrows
        .map(|((from, to), names)| format!("{from} -> {to}: {}", names.into_iter().collect::<Vec<_>>().join(" ")))
        .collect()
}

#[test]
fn a_circle_between_folders_is_found_with_its_names() {
    let of_crate = made_up(&[
        ("lib.rs", "mod app; mod guest; mod limits;"),
        ("app/mod.rs", "pub(crate) mod options;"),
        (
            "app/options.rs",
            "use crate::guest::Store; pub(crate) struct Options(Store);",
        ),
        (
            "guest/mod.rs",
            "use crate::app::options::Options; pub(crate) struct Store(crate::limits::Limit);",
        ),
        ("limits.rs", "pub(crate) struct Limit;"),
    ]);
    let circles = of_crate.folder_circles();
    assert_eq!(circles.len(), 1);
    assert_eq!(
        circles[0].to_string(),
        "host/made-up: folders: app, guest\n    app/options.rs takes from guest/mod.rs: Store\n    \
         guest/mod.rs takes from app/options.rs: Options\n"
    );
}

#[test]
fn a_reexport_is_followed_to_the_file_that_defines_the_name() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::deep::Thing;"),
        ("a/mod.rs", "mod deep; pub(crate) use deep::{Thing, Other as Second};"),
        ("a/deep.rs", "pub struct Thing; pub(crate) struct Other;"),
        ("b.rs", "use crate::{Thing, a}; fn f(_: Thing, _: a::Second) {}"),
    ];
    assert_eq!(arrows(&files), ["b.rs -> a/deep.rs: Other Thing"]);
}

#[test]
fn a_reexport_is_no_arrow_of_its_own() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "pub(crate) use crate::b::Thing;"),
        ("b.rs", "pub(crate) struct Thing;"),
    ];
    assert_eq!(arrows(&files), [""; 0]);
}

#[test]
fn a_glob_leads_to_the_file_that_defines_the_name() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub(crate) struct Thing;"),
        ("b.rs", "use crate::a::*; struct Own(Thing);"),
    ];
    assert_eq!(arrows(&files), ["b.rs -> a.rs: Thing"]);
}

#[test]
fn a_parent_and_its_child_do_not_count_and_its_grandchild_does() {
    let files = [
        ("lib.rs", "mod a;"),
        (
            "a.rs",
            "mod child; use child::grandchild::Deep; pub(crate) struct Top(child::Low, Deep);",
        ),
        (
            "a/child.rs",
            "pub(super) mod grandchild; pub(super) struct Low(Option<Box<super::Top>>);",
        ),
        ("a/child/grandchild.rs", "pub(crate) struct Deep;"),
    ];
    assert_eq!(arrows(&files), ["a.rs -> a/child/grandchild.rs: Deep"]);
}

#[test]
fn tests_do_not_count() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "#[cfg(test)] mod tests; #[cfg(test)] use crate::b::Thing; #[cfg(test)] mod inner { use crate::b::Thing; } \
             #[cfg(any(test, fuzzing))] #[path = \"../../fuzz.rs\"] mod fuzz;",
        ),
        ("a/tests.rs", "use crate::b::Thing;"),
        ("b.rs", "pub(crate) struct Thing;"),
    ];
    assert_eq!(arrows(&files), [""; 0]);
}

#[test]
fn paths_in_macros_and_attributes_count() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "use crate::b; struct S { #[serde(with = \"crate::b::time\")] s: u8 } fn f() { println!(\"{}\", b::text()) }",
        ),
        (
            "b.rs",
            "pub(crate) mod time { pub(crate) fn read() {} } pub(crate) fn text() {}",
        ),
    ];
    assert_eq!(arrows(&files), ["a.rs -> b.rs: text"]);
    let made = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "fn f() { crate::b::made!(); } #[serde(default = \"crate::b::one\")] struct S;",
        ),
        (
            "b.rs",
            "pub(crate) fn one() {} macro_rules! made { () => {} } pub(crate) use made;",
        ),
    ];
    assert_eq!(arrows(&made), ["a.rs -> b.rs: made one"]);
}

#[test]
fn a_circle_of_five_files_is_too_large_and_one_of_four_is_not() {
    let chain = |size: usize| {
        let mut files = vec![("lib.rs".to_owned(), "mod f;".to_owned())];
        let children: String = (0..size).map(|file| format!("mod f{file};")).collect();
        files.push(("f/mod.rs".to_owned(), children));
        for file in 0..size {
            let next = (file + 1) % size;
            let text = format!("use super::f{next}::T{next}; pub(super) struct T{file};");
            files.push((format!("f/f{file}.rs"), text));
        }
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        made_up(&files).large_circles().len()
    };
    assert_eq!((chain(4), chain(5)), (0, 1));
}

#[test]
fn a_circle_of_files_beside_the_root_is_a_circle_within_a_folder() {
    let of_crate = made_up(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub(crate) struct A;"),
        ("b.rs", "use crate::a::A; pub(crate) struct B;"),
    ]);
    assert_eq!(of_crate.folder_circles().len(), 0);
    assert_eq!(of_crate.circles_within_folders().len(), 1);
}

#[test]
fn a_circle_between_folders_within_a_folder_is_found() {
    let of_crate = made_up(&[
        ("lib.rs", "mod top;"),
        ("top/mod.rs", "mod a; mod b;"),
        ("top/a/mod.rs", "use crate::top::b::B; pub(crate) struct A;"),
        ("top/b/mod.rs", "use crate::top::a::A; pub(crate) struct B;"),
    ]);
    assert_eq!(of_crate.folder_circles().len(), 1);
}

#[test]
fn an_arrow_upward_is_found_and_one_over_two_layers_downward_is_not() {
    let of_crate = made_up(&[
        ("lib.rs", "mod high; mod middle; mod low; mod error;"),
        ("high/mod.rs", "use crate::low::Low; pub(crate) struct High;"),
        ("middle/mod.rs", "use crate::error::Error;"),
        ("low/mod.rs", "use crate::high::High; pub(crate) struct Low;"),
        ("error.rs", "use crate::low::Low; pub(crate) struct Error;"),
    ]);
    let upward = of_crate.upward(&[("high", &["middle"]), ("middle", &["low"]), ("low", &[])]);
    assert_eq!(
        upward,
        [
            "error.rs takes from low/mod.rs: Low",
            "low/mod.rs takes from high/mod.rs: High"
        ]
    );
    let lacking = of_crate.upward(&[("high", &["low"]), ("low", &[])]);
    assert_eq!(lacking[0], "`middle/` has no layer; give it one in this test");
}
