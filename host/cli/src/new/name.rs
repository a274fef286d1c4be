//! The names of projects.

use crate::toolchains::Language;

/// Names that an operating system reserves.
const DEVICES: &[&str] = &[
    "aux", "con", "nul", "prn", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Checks that `name` is valid for a package, its library and a module.
///
/// # Errors
///
/// The reason, as the end of a sentence that begins with the name.
pub(super) fn check(name: &str, language: &Language) -> Result<(), String> {
    // Cargo treats `-` and `_` alike.
    let lower = name.to_ascii_lowercase().replace('_', "-");
    let Some(first) = name.chars().next() else {
        return Err("is empty".to_owned());
    };
    if !first.is_ascii_alphabetic() {
        return Err(format!("begins with `{first}`; expected an ASCII letter"));
    }
    if let Some(other) = name
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))
    {
        return Err(format!(
            "contains `{}`; expected ASCII letters, digits, `-` and `_`",
            other.escape_debug()
        ));
    }
    if name.len() > 64 {
        return Err("is longer than 64 characters".to_owned());
    }
    if lower.starts_with("pointwork-") {
        return Err("begins with `pointwork-`, as the crates of Pointwork do".to_owned());
    }
    if DEVICES.contains(&lower.as_str()) {
        return Err("is the name of a device on Windows".to_owned());
    }
    match language
        .reserved
        .iter()
        .find(|(names, _)| names.contains(&lower.as_str()))
    {
        Some((_, reason)) => Err((*reason).to_owned()),
        None => Ok(()),
    }
}

/// A name similar to `name` that passes [`check`].
pub(super) fn suggestion(name: &str, language: &Language) -> Option<String> {
    let mut near = String::new();
    for c in name.trim().chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '_' => near.push(c),
            _ if !near.is_empty() && !near.ends_with('-') => near.push('-'),
            _ => {}
        }
    }
    near.truncate(64);
    let near = near
        .trim_start_matches(|c: char| !c.is_ascii_alphabetic())
        .trim_end_matches(['-', '_']);
    let near = near.strip_prefix("pointwork-").unwrap_or(near);
    [near.to_owned(), format!("{near}-api")]
        .into_iter()
        .find(|near| check(near, language).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchains::LANGUAGES;

    #[test]
    fn ordinary_names_pass() {
        for name in ["shop", "shop-api", "shop_api", "Shop2", "a"] {
            assert_eq!(check(name, &LANGUAGES[0]), Ok(()), "{name}");
        }
    }

    #[test]
    fn refusal_says_which_rule_and_where() {
        for (name, part) in [
            ("", "empty"),
            ("2shop", "begins with `2`"),
            ("-shop", "begins with `-`"),
            ("shop api", "contains ` `"),
            ("a/b", "contains `/`"),
            ("läden", "contains `ä`"),
            ("match", "keyword of Rust"),
            ("std", "crate"),
            ("pointwork", "crate"),
            ("pointwork-guest", "crates of Pointwork"),
            ("pointwork_guest_macros", "crates of Pointwork"),
            ("pointwork-events", "crates of Pointwork"),
            ("serde_json", "crate"),
            ("deps", "target directory"),
            ("NUL", "device"),
            ("com1", "device"),
        ] {
            let reason = check(name, &LANGUAGES[0]).expect_err(name);
            assert!(reason.contains(part), "{name}: {reason}");
        }
    }

    #[test]
    fn suggestion_passes_the_check_itself() {
        for (name, near) in [
            ("My Shop!", Some("my-shop")),
            ("2shop", Some("shop")),
            ("match", Some("match-api")),
            ("a/b", Some("a-b")),
            ("pointwork-shop", Some("shop")),
            ("42", None),
            ("", None),
        ] {
            assert_eq!(suggestion(name, &LANGUAGES[0]).as_deref(), near, "{name}");
        }
    }
}
