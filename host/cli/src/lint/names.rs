//! The names of Rust's functions.

/// The code that drops a value. Its argument is all that it says.
pub(super) const DROP: &str = "core::ptr::drop_in_place";

/// A name without its hash and its generic arguments: `std::fs::read`, `<shop::Item as core::fmt::Display>::fmt`.
pub(super) fn readable(mangled: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    if name.starts_with(DROP) {
        return name;
    }
    let name = without_generics(&name);
    // `<std::time::Instant>::now` is `std::time::Instant::now`.
    match name.strip_prefix('<').and_then(|rest| rest.split_once(">::")) {
        Some((ty, function)) if !ty.contains(" as ") => format!("{ty}::{function}"),
        _ => name,
    }
}

/// Removes `::<…>` and `<…>` behind a word. `<…>` at the beginning of the name is a type, and stays.
fn without_generics(name: &str) -> String {
    let mut text = String::new();
    let (mut depth, mut removed_from) = (0_usize, None);
    let mut before = ' ';
    for char in name.chars() {
        match char {
            '<' => {
                depth += 1;
                let is_type = text.is_empty() || matches!(before, '<' | '&' | '(' | ' ' | ',');
                if removed_from.is_none() && !is_type {
                    removed_from = Some(depth);
                    while text.ends_with(':') {
                        text.pop();
                    }
                }
                if removed_from.is_none() {
                    text.push(char);
                }
            }
            // Not that of `->`.
            '>' if before != '-' => {
                if removed_from.is_none() {
                    text.push(char);
                } else if removed_from == Some(depth) {
                    removed_from = None;
                }
                depth = depth.saturating_sub(1);
            }
            _ if removed_from.is_none() => text.push(char),
            _ => {}
        }
        before = char;
    }
    text
}

/// The crates to which a readable name belongs: that of a path, those of type and trait of an impl.
pub(super) fn crates(name: &str) -> impl Iterator<Item = &str> {
    let (first, second) = match name.strip_prefix('<').and_then(|rest| rest.split_once(" as ")) {
        Some((ty, rest)) => (ty, rest.split(">::").next()),
        None => (name, None),
    };
    let root = |path: &'_ str| -> Option<usize> { path.find("::") };
    [Some(first), second].into_iter().flatten().filter_map(move |path| {
        let path = path.trim_start_matches(|char: char| !char.is_alphanumeric() && char != '_');
        let path = path.strip_prefix("mut ").or(path.strip_prefix("dyn ")).unwrap_or(path);
        root(path).map(|end| &path[..end])
    })
}

/// Whether a readable name is one of the standard library, or of a crate that is part of it.
pub(super) fn is_std(name: &str) -> bool {
    const CRATES: [&str; 14] = [
        "std",
        "core",
        "alloc",
        "hashbrown",
        "dlmalloc",
        "compiler_builtins",
        "rustc_demangle",
        "addr2line",
        "gimli",
        "object",
        "miniz_oxide",
        "panic_abort",
        "std_detect",
        "__rustc",
    ];
    let mut crates = crates(name).peekable();
    crates.peek().is_some() && crates.all(|name| CRATES.contains(&name))
}

/// The name for a message: `shop::Item::fmt`, and the function around a closure.
pub(super) fn shown(name: &str) -> String {
    let impl_of = name.strip_prefix('<').and_then(|rest| rest.split_once(" as "));
    if let Some((ty, rest)) = impl_of.filter(|(_, rest)| rest.starts_with("pointwork_guest::")) {
        // The dispatch of a controller, and a function of it that polls an `async fn` of the same name.
        return match rest.rsplit_once("}::") {
            Some((_, function)) => format!("{ty}::{function}"),
            None => ty.to_owned(),
        };
    }
    let function = |path: &str| path[..path.find("::{").unwrap_or(path.len())].to_owned();
    match impl_of.and_then(|(ty, rest)| Some((ty, rest.split_once(">::")?.1))) {
        Some((ty, path)) => format!("{ty}::{}", function(path)),
        None => function(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{crates, is_std, readable, shown};

    #[test]
    fn names_lose_their_hash_and_generic_arguments() {
        for (mangled, name) in [
            ("_ZN5probe4Uses5c_dbg17h414a250d5bede27bE", "probe::Uses::c_dbg"),
            (
                "_ZN79_$LT$probe..Uses$u20$as$u20$pointwork_guest..controller..BlockingController$GT$6handle17had0b19e8845d456cE",
                "<probe::Uses as pointwork_guest::controller::BlockingController>::handle",
            ),
            (
                "_RNvNtNtCsebHcaeoSrxy_3std6thread9functions5sleep",
                "std::thread::functions::sleep",
            ),
            (
                "_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h414a250d5bede27bE",
                "alloc::vec::Vec::push",
            ),
            ("malloc", "malloc"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }

    #[test]
    fn the_standard_library_is_told_by_all_crates_of_a_name() {
        for name in [
            "std::io::stdio::_print",
            "<&std::io::stdio::Stderr as std::io::Write>::write_fmt",
            "<(&str, u16) as std::net::socket_addr::ToSocketAddrs>::to_socket_addrs",
            "__rustc::__rdl_dealloc",
        ] {
            assert!(is_std(name), "{name} {:?}", crates(name).collect::<Vec<_>>());
        }
        for name in [
            "shop::list",
            "<shop::Item as core::fmt::Display>::fmt",
            "<alloc::vec::Vec as shop::Total>::total",
            "pointwork:module/handlers@0.2.0#handle",
            "malloc",
        ] {
            assert!(!is_std(name), "{name}");
        }
    }

    #[test]
    fn a_closure_is_shown_as_its_function() {
        assert_eq!(shown("shop::list::{{closure}}"), "shop::list");
        assert_eq!(shown("shop::list::{closure#0}::{closure#1}"), "shop::list");
        assert_eq!(shown("<shop::Item as core::fmt::Display>::fmt"), "shop::Item::fmt");
        assert_eq!(
            shown("<shop::Items as pointwork_guest::controller::Controller>::handle_async::{{closure}}::list"),
            "shop::Items::list"
        );
        assert_eq!(
            shown("<shop::Items as pointwork_guest::controller::Controller>::handle"),
            "shop::Items"
        );
    }
}
