/// Whether `name` is a valid event name: words joined by `:`, without whitespace and control characters.
///
/// ```
/// use pointwork_events::is_event_name;
///
/// assert!(is_event_name("db:product:all"));
/// assert!(is_event_name("send"));
/// assert!(!is_event_name("db::all"));
/// assert!(!is_event_name("db: all"));
/// ```
pub const fn is_event_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut part = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b':' if part == 0 => return false,
            b':' => part = 0,
            0..=b' ' | 0x7f => return false,
            _ => part += 1,
        }
        at += 1;
    }
    part > 0
}

#[cfg(test)]
mod tests {
    use super::is_event_name;

    #[test]
    fn words_joined_by_colons_are_a_name() {
        for name in ["send", "db:all", "db:product:all", "größe:ändern"] {
            assert!(is_event_name(name), "{name}");
        }
        for name in [
            "",
            ":",
            ":all",
            "db:",
            "db::all",
            " ",
            "db: all",
            "db:\tall",
            "db:all\n",
            "db:\u{7f}",
        ] {
            assert!(!is_event_name(name), "{name}");
        }
    }
}
