//! Every citation of the specification, such as `spec P6`, leads to a row of `tests/spec.md`.

use std::collections::BTreeSet;

use pointwork_rules::{Text, texts};

const SPEC: &str = "tests/spec.md";

/// The rows of the specification and its chapters, which are single letters.
fn rows(spec: &str) -> BTreeSet<&str> {
    let names = spec.lines().filter_map(|line| {
        let name = line.strip_prefix("- ").or_else(|| line.strip_prefix("## "))?;
        name.split([' ', '.']).next()
    });
    names.filter(|name| is_row(name)).collect()
}

/// Whether a word has the form of a row: a capital, and a number of at most two digits; a chapter has no number.
fn is_row(word: &str) -> bool {
    let (letter, number) = word.split_at(word.len().min(1));
    letter.bytes().all(|letter| letter.is_ascii_uppercase())
        && !letter.is_empty()
        && number.len() <= 2
        && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// The words of a text with their lines, without the marks of comments.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).flat_map(|(number, line)| {
        let line = line.trim_start().trim_start_matches(['/', '!', '#', '*']);
        line.split_whitespace().map(move |word| (number, word))
    })
}

/// Every row that a text cites after the word `spec`, with its line.
fn citations(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (line, word) in words(text) {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if inside && is_row(bare) {
            found.push((line, bare));
            inside = !word.ends_with([')', '.', ':', ';']);
        } else {
            inside = bare.eq_ignore_ascii_case("spec") || inside && matches!(bare, "to" | "and" | "or");
        }
    }
    found
}

fn readable() -> Vec<Text> {
    let mut readable = texts().unwrap();
    let ends = [".rs", ".md", ".toml", ".wit", ".wat", ".js", ".mjs", ".yml", ".in"];
    readable.retain(|text| {
        ends.iter().any(|end| text.path.ends_with(end)) && text.path != SPEC && !text.path.starts_with("tests/rules/")
    });
    readable
}

fn spec() -> String {
    let spec = texts().unwrap().into_iter().find(|text| text.path == SPEC);
    spec.expect("the specification is there").text
}

#[test]
fn every_citation_names_a_row_that_exists() {
    let spec = spec();
    let rows = rows(&spec);
    assert!(rows.len() > 60, "{rows:?}");
    let mut number = 0;
    let mut wrong = Vec::new();
    for text in readable() {
        for (line, row) in citations(&text.text) {
            number += 1;
            if !rows.contains(row) {
                wrong.push(format!("{}:{line}: no row {row}", text.path));
            }
        }
    }
    assert!(number > 200, "only {number} citations were found");
    assert!(wrong.is_empty(), "citations that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn rows_of_the_specification_name_rows_that_exist() {
    let spec = spec();
    let rows = rows(&spec);
    let named = words(&spec).map(|(line, word)| (line, word.trim_matches(|c: char| !c.is_ascii_alphanumeric())));
    let wrong: Vec<_> = named
        .filter(|(_, word)| word.len() > 1 && is_row(word) && !rows.contains(word))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_row_in_a_comment_is_cited_as_spec() {
    let spec = spec();
    let rows = rows(&spec);
    let mut wrong = Vec::new();
    for text in readable() {
        let cited: BTreeSet<_> = citations(&text.text).into_iter().collect();
        for (number, line) in (1..).zip(text.text.lines()) {
            let is_prose = text.path.ends_with(".md") || line.trim_start().starts_with("//");
            if !is_prose {
                continue;
            }
            // What stands in backticks is code.
            let prose = line.split('`').step_by(2);
            let names = prose.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '%'));
            let bare = names.filter(|name| name.len() > 1 && rows.contains(name) && !cited.contains(&(number, name)));
            wrong.extend(bare.map(|name| format!("{}:{number}: `{name}` without `spec`", text.path)));
        }
    }
    assert!(
        wrong.is_empty(),
        "rows that are cited in another form:\n{}",
        wrong.join("\n")
    );
}

/// A project has a copy of the SDK, and has not this specification.
#[test]
fn the_sdk_that_projects_have_a_copy_of_cites_no_row() {
    let folders = ["src", "macros/src", "patterns/src", "events/src"].map(|folder| format!("guest/rust/{folder}/"));
    let of_sdk = readable()
        .into_iter()
        .filter(|text| folders.iter().any(|folder| text.path.starts_with(folder)));
    let mut number = 0;
    let mut wrong = Vec::new();
    for text in of_sdk {
        number += 1;
        let cited = citations(&text.text).into_iter();
        wrong.extend(cited.map(|(line, row)| format!("{}:{line}: {row}", text.path)));
    }
    assert!(number > 50, "only {number} files of the SDK were read");
    assert!(wrong.is_empty(), "rows that the SDK cites:\n{}", wrong.join("\n"));
}

#[test]
fn citations_are_read_in_all_their_forms() {
    let text = "(spec A5 to A8); (spec C, H3): the spec says A1; (spec\n//! D10, P7, and the rest A9)";
    let rows: Vec<_> = citations(text).into_iter().map(|(_, row)| row).collect();
    assert_eq!(rows, ["A5", "A8", "C", "H3", "D10", "P7"]);
}
