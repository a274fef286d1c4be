//! Words for errors: "did you mean …?", and lists of what was expected.

/// The candidate most similar to `given`, if one is similar enough.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Below 0.8 a suggestion misleads more often than it helps.
    const NEAR: f64 = 0.8;
    let given = given.to_lowercase();
    let scored = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&given, &candidate.to_lowercase()), candidate));
    let (score, candidate) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= NEAR).then_some(candidate)
}

/// "`a`, `b` and `c`", with `word` before the last.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {word} {last}", head.join(", ")),
    }
}
