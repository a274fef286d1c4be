//! The documents: short enough, and every link and path in them leads somewhere.

use std::collections::BTreeSet;

use pointwork_rules::{Text, root, texts, texts_ending};

/// The most lines that a document may have.
const LONGEST: &[(&str, usize)] = &[("README.md", 250), ("ARCHITECTURE.md", 230)];

/// The folders at the top level; a path in backticks that begins with one is a path of the repository.
const ROOMS: &[&str] = &[".ci", "adapters", "docs", "examples", "guest", "host", "tests", "wit"];

fn documents() -> Vec<Text> {
    let mut documents = texts().unwrap();
    documents.retain(|text| {
        let is_at_top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&text.path.as_str());
        is_at_top || text.path.ends_with(".md") && text.path.starts_with("docs/")
    });
    assert!(documents.len() > 3, "{documents:?}");
    documents
}

/// The lines outside code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((number, line));
        }
    }
    lines
}

/// The targets of the links of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The anchors of a document, as GitHub makes them of the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let lines = prose(text).into_iter();
    let headings = lines.filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.trim().to_lowercase())
    });
    headings
        .map(|heading| {
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn documents_are_short() {
    for document in documents() {
        let lines = document.text.lines().count();
        let most = LONGEST.iter().find(|(path, _)| *path == document.path);
        if let Some((path, most)) = most {
            assert!(lines <= *most, "{path} has {lines} lines, and may have {most}");
        }
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    for document in documents() {
        let folder = root().join(&document.path);
        let folder = folder.parent().expect("a document stands in a folder");
        for (line, link) in prose(&document.text)
            .into_iter()
            .flat_map(|(line, text)| links(text).map(move |link| (line, link)))
        {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                root().join(&document.path)
            } else {
                folder.join(file)
            };
            let has_heading = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                anchor.is_empty() || anchors(&text).contains(anchor)
            };
            if !target.exists() || !has_heading() {
                wrong.push(format!("{}:{line}: {link}", document.path));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_path_in_backticks_exists() {
    let files: Vec<_> = texts().unwrap().into_iter().map(|text| text.path).collect();
    let mut wrong = Vec::new();
    for document in documents() {
        for (line, text) in prose(&document.text) {
            for code in text.split('`').skip(1).step_by(2) {
                let path = code.split("::").next().unwrap_or_default();
                // A pattern, or a place for a name.
                if path.contains([' ', '*', '<', '{', '…']) || path.contains("NAME") {
                    continue;
                }
                let is_path = path.split_once('/').is_some_and(|(top, _)| ROOMS.contains(&top));
                let is_source = path.ends_with(".rs");
                let exists = || {
                    let end = format!("/{path}");
                    root().join(path).exists() || is_source && files.iter().any(|file| file.ends_with(&end))
                };
                if (is_path || is_source) && !exists() {
                    wrong.push(format!("{}:{line}: `{path}`", document.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "paths that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_test_of_the_security_page_exists() {
    let mut functions = BTreeSet::new();
    for source in texts_ending(".rs").unwrap() {
        let names = source.text.split("fn ").skip(1);
        functions.extend(names.filter_map(|rest| rest.split(['(', '<']).next().map(str::to_owned)));
    }
    let documents = documents();
    let page = documents
        .iter()
        .find(|document| document.path == "docs/security.md")
        .expect("the page");
    let mut rows = 0;
    let mut wrong = Vec::new();
    for (line, text) in prose(&page.text) {
        // Threat, limit, test.
        let ["", _, _, tests, ""] = text.split('|').collect::<Vec<_>>()[..] else {
            continue;
        };
        rows += 1;
        let tests = tests.split('`').skip(1).step_by(2);
        let missing = tests.filter(|test| !functions.contains(*test));
        wrong.extend(missing.map(|test| format!("{line}: `{test}`")));
    }
    assert!(rows > 10, "the page has no table of threats");
    assert!(wrong.is_empty(), "tests that do not exist:\n{}", wrong.join("\n"));
}
