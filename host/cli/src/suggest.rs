//! "Did you mean …?"

/// The candidate that was most likely meant by `given`, if one is near enough to be worth mentioning.
pub(crate) fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Above 0.8 a pair shares most of its letters in order; below it the suggestion is noise more often than help.
    const NEAR: f64 = 0.8;
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&given.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// "`a`, `b` and `c`".
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    enumerate(names, "and")
}

/// "`a`, `b` or `c`".
pub(crate) fn list_or<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    enumerate(names, "or")
}

fn enumerate<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {word} {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slip_of_the_keys_finds_the_name() {
        assert_eq!(nearest("prefx", ["listen", "adapter", "prefix"]), Some("prefix"));
        assert_eq!(
            nearest("query_one", ["query", "query-one", "execute"]),
            Some("query-one")
        );
    }

    #[test]
    fn unrelated_word_finds_nothing() {
        assert_eq!(nearest("colour", ["listen", "adapter", "prefix"]), None);
    }
}
