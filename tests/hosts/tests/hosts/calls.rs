//! Checks that the cases and the binding's own tests call each public function of a binding.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Language, programs, python};

fn bindings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host/bindings")
}

/// The functions of the header.
pub(crate) fn functions_of_c() -> Vec<String> {
    let header = fs::read_to_string(bindings().join("c/include/pointwork.h")).expect("the header");
    let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/', '#']);
    let code: String = header.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let before_parentheses = code.split('(').map(|text| {
        let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        start.map_or(text, |start| &text[start + 1..])
    });
    let functions = before_parentheses.filter(|name| name.starts_with("pw_"));
    let mut functions: Vec<_> = functions.map(str::to_owned).collect();
    functions.sort();
    functions.dedup();
    functions
}

/// A header that counts each call: a macro does not expand within itself, so that each name stays a call of the function.
pub(crate) fn header_that_counts(functions: &[String]) -> String {
    let macros = functions
        .iter()
        .enumerate()
        .map(|(number, name)| format!("#define {name}(...) (count_call({number}, \"{name}\"), {name}(__VA_ARGS__))\n"));
    format!(
        "#include <pointwork.h>\n#define PW_FUNCTIONS {}\nvoid count_call(size_t number, const char *name);\n{}",
        functions.len(),
        macros.collect::<String>()
    )
}

/// The functions, properties and classes of the package.
fn functions_of_python() -> Vec<String> {
    let output = python().arg("--public").output().expect("Python starts");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// Whether each public function of a binding is called. Prints the functions that are not.
#[expect(clippy::print_stderr, reason = "it is the result of a test")]
pub(crate) fn are_complete(language: &Language) -> bool {
    let (public, program) = match language.name {
        "c" => (functions_of_c(), Some(programs().join("host.c"))),
        _ => (functions_of_python(), None),
    };
    let tests = bindings().join(language.name).join("tests");
    let missing = language.calls.missing(&public, program.as_deref(), &tests);
    let missing = missing.expect("the sources of the tests");
    if public.is_empty() || !missing.is_empty() {
        eprintln!(
            "\n{} of {} public functions of the binding `{}` are not called: {}\nSelect a case that calls each function by \
             `in hosts`, or call the function in a test of the binding.",
            missing.len(),
            public.len(),
            language.name,
            missing.join(", ")
        );
    }
    !public.is_empty() && missing.is_empty()
}
