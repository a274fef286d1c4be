//! The variables of a module: its configuration, which is constant for a version (spec H10).

use std::collections::BTreeMap;
use std::env::VarError;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use pointwork_core::routing::MAX_NAME_BYTES;
use pointwork_core::{is_unprintable, read_text};

use crate::{Error, ErrorKind, OrError};

/// The largest number of variables of a module.
pub(crate) const MAX_VARIABLES: usize = 256;

/// The most bytes of all variables of a module, names and values.
const MAX_BYTES: usize = 256 * 1024;

/// The variables of a module: names with values, or with the places where the host finds the values. By default there are none.
///
/// The host reads the values when it makes a version: at a load, a swap, a roll-back and a restart. A value that is missing
/// refuses the change. A version keeps its values. Neither [`Debug`] nor an error shows a value.
///
/// A module has at most 256 variables, whose names and values have 256 KiB together. A name has 1 to 255 bytes, all of them
/// printable, and no `=`; a value has no zero byte.
///
/// ```
/// use pointwork::Variables;
///
/// let variables = Variables::new()
///     .value("CURRENCY", "EUR")
///     .env("TOKEN", "SHOP_TOKEN")
///     .file("KEY", "/run/secrets/key");
/// assert!(variables.names().eq(["CURRENCY", "KEY", "TOKEN"]));
/// assert!(!format!("{variables:?}").contains("EUR"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    sources: BTreeMap<String, Source>,
    program: Option<Arc<str>>,
    /// What was found when they were resolved; empty before.
    values: Values,
}

/// The name of the program among the values. No variable can have it.
pub(crate) const PROGRAM: &str = "=program";

/// The most bytes of a program.
const MAX_PROGRAM: usize = 64 * 1024 * 1024;

/// The names and values of a version.
pub(crate) type Values = Arc<[(String, String)]>;

/// The origin of a value.
#[derive(Clone, PartialEq, Eq)]
enum Source {
    Value(String),
    Env(String),
    File(PathBuf),
}

impl Variables {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable with this value.
    #[must_use]
    pub fn value(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(name.into(), Source::Value(value.into()))
    }

    /// Adds a variable with the value of an environment variable of the host.
    #[must_use]
    pub fn env(self, name: impl Into<String>, variable: impl Into<String>) -> Self {
        self.with(name.into(), Source::Env(variable.into()))
    }

    /// Adds a variable with the text of a file, UTF-8, without the line end that the file may end with.
    #[must_use]
    pub fn file(self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.with(name.into(), Source::File(path.into()))
    }

    fn with(mut self, name: String, source: Source) -> Self {
        self.sources.insert(name, source);
        self
    }

    /// The program of a component that has none: `pointwork dev` makes the engine of a language once, and each instance evaluates
    /// this. It is no variable, and is at most 64 MiB.
    #[doc(hidden)]
    #[must_use]
    pub fn program(mut self, program: impl Into<Arc<str>>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// Whether a text can be the name of a variable.
    pub fn is_name(text: &str) -> bool {
        !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains(|c| c == '=' || is_unprintable(c))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.program.is_none()
    }

    /// The values that were found when they were [resolved](Self::resolve).
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Reads the present values. It blocks.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a value is missing or invalid. The error names the variable.
    pub(crate) fn resolve(mut self) -> Result<Self, Error> {
        let refused = |message: String| Error::new(ErrorKind::Refused, message);
        if self.sources.len() > MAX_VARIABLES {
            let count = self.sources.len();
            return Err(refused(format!(
                "it has {count} variables, expected at most {MAX_VARIABLES}"
            )));
        }
        let mut values = Vec::with_capacity(self.sources.len());
        let mut bytes = 0;
        for (name, source) in &self.sources {
            if !Self::is_name(name) {
                let name: String = name.chars().take(MAX_NAME_BYTES).collect();
                let message = format!("`{}` is not the name of a variable", name.escape_debug());
                return Err(refused(message).with_hint(NAME));
            }
            let value = source.read(name)?;
            if value.contains('\0') {
                return Err(refused(format!("the value of the variable `{name}` has a zero byte")));
            }
            bytes += name.len() + value.len();
            if bytes > MAX_BYTES {
                return Err(refused(format!(
                    "the variables up to `{name}` have {bytes} bytes, expected at most {MAX_BYTES} for all names and values"
                )));
            }
            values.push((name.clone(), value));
        }
        if let Some(program) = &self.program {
            let size = program.len();
            if size > MAX_PROGRAM {
                return Err(refused(format!(
                    "the program has {size} bytes, expected at most {MAX_PROGRAM}"
                )));
            }
            values.push((PROGRAM.to_owned(), (**program).to_owned()));
        }
        self.values = values.into();
        Ok(self)
    }
}

/// The rule of [`Variables::is_name`].
const NAME: &str = "a name has 1 to 255 bytes, all of them printable, and no `=`";

impl Source {
    fn read(&self, name: &str) -> Result<String, Error> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Env(variable) => std::env::var(variable).map_err(|error| {
                // The error itself would show a value that is not UTF-8.
                let problem = match error {
                    VarError::NotPresent => "is not set",
                    VarError::NotUnicode(_) => "is not UTF-8",
                };
                let message =
                    format!("the variable `{name}` has no value: the environment variable `{variable}` {problem}");
                Error::new(ErrorKind::Refused, message).with_hint("set it in the environment of the server")
            }),
            Self::File(path) => {
                let message = format!(
                    "the variable `{name}` has no value: the file `{}` cannot be read",
                    path.display()
                );
                let mut text = read_text(path, MAX_BYTES as u64).or_error(ErrorKind::Refused, message)?;
                // An editor and `echo` end a file with it.
                let end = text
                    .strip_suffix('\n')
                    .map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
                text.truncate(end.unwrap_or(text.len()));
                Ok(text)
            }
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.sources).finish()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("Value(…)"),
            Self::Env(variable) => f.debug_tuple("Env").field(variable).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn refused(variables: Variables) -> String {
        let error = variables.resolve().expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::Refused);
        match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }
    }

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, content).expect("written");
        (folder, path)
    }

    fn values(variables: Variables) -> Vec<(String, String)> {
        variables.resolve().expect("they are there").values().to_vec()
    }

    #[test]
    fn values_come_from_the_program_the_environment_and_files() {
        let (_folder, path) = file(b"se\nsame\r\n");
        let variables = Variables::new()
            .file("C", path)
            .env("B", "CARGO_PKG_NAME")
            .value("A", "a=b");
        let expected = [("A", "a=b"), ("B", "pointwork"), ("C", "se\nsame")];
        assert_eq!(
            values(variables),
            expected.map(|(name, value)| (name.into(), value.into()))
        );
    }

    #[test]
    fn one_line_end_of_a_file_is_left_out() {
        for (content, value) in [("", ""), ("\n", ""), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a\r", "a\r")] {
            let (_folder, path) = file(content.as_bytes());
            assert_eq!(
                values(Variables::new().file("A", path)),
                [("A".into(), value.into())],
                "{content:?}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        assert_eq!(
            refused(
                Variables::new()
                    .value("A", "a")
                    .env("TOKEN", "POINTWORK_TEST_NEVER_SET")
            ),
            "the variable `TOKEN` has no value: the environment variable `POINTWORK_TEST_NEVER_SET` is not set"
        );
        let (folder, path) = file(b"");
        let missing = folder.path().join("missing");
        let start = format!(
            "the variable `TOKEN` has no value: the file `{}` cannot be read: ",
            missing.display()
        );
        let text = refused(Variables::new().file("TOKEN", missing));
        assert!(text.starts_with(&start), "{text}");
        let text = refused(Variables::new().file("TOKEN", path.parent().expect("a folder")));
        assert!(text.ends_with(": it is a directory, expected a regular file"), "{text}");
    }

    #[test]
    fn a_file_that_is_not_utf_8_is_refused_and_not_shown() {
        let (_folder, path) = file(b"sesame\xff");
        let text = refused(Variables::new().file("TOKEN", path));
        assert!(text.ends_with(": it is not UTF-8 from byte 6 on"), "{text}");
        assert!(!text.contains("sesame"), "{text}");
    }

    #[test]
    fn a_name_or_a_value_that_no_environment_has_is_refused() {
        let long = "N".repeat(256);
        for name in ["", "A=B", "A\0B", "A\nB", "A\u{202e}B", &long] {
            let text = refused(Variables::new().value(name, "sesame"));
            assert!(
                text.ends_with("is not the name of a variable") && !text.contains("sesame"),
                "{text}"
            );
        }
        assert_eq!(
            refused(Variables::new().value("A", "ses\0ame")),
            "the value of the variable `A` has a zero byte"
        );
    }

    #[test]
    fn number_and_size_have_bounds() {
        let many = |count: usize| (0..count).fold(Variables::new(), |all, number| all.value(format!("V{number}"), ""));
        assert_eq!(values(many(256)).len(), 256);
        assert_eq!(refused(many(257)), "it has 257 variables, expected at most 256");
        let long = "x".repeat(1_000_000);
        let problem = "expected at most 262144";
        let text = refused(Variables::new().value("BIG", &long));
        assert_eq!(
            text,
            format!("the variables up to `BIG` have 1000003 bytes, {problem} for all names and values")
        );
        let (_folder, path) = file(long.as_bytes());
        let text = refused(Variables::new().file("BIG", path));
        assert!(text.ends_with(&format!(": it has 1000000 bytes, {problem}")), "{text}");
        assert_eq!(values(Variables::new().value("A", &long[..MAX_BYTES - 1])).len(), 1);
        let text = refused(Variables::new().value("A", &long[..MAX_BYTES - 1]).value("B", ""));
        assert!(text.starts_with("the variables up to `B` have 262145 bytes"), "{text}");
    }

    #[test]
    fn debug_shows_no_value() {
        let variables = Variables::new()
            .value("A", "sesame")
            .env("B", "SHOP_TOKEN")
            .file("C", "token");
        let shown = r#"{"A": Value(…), "B": Env("SHOP_TOKEN"), "C": File("token")}"#;
        assert_eq!(format!("{variables:?}"), shown);
        let resolved = Variables::new().value("A", "sesame").resolve().expect("a value");
        assert_eq!(format!("{resolved:?}"), r#"{"A": Value(…)}"#);
    }

    #[test]
    fn a_program_is_no_variable_and_makes_another_version() {
        let variables = Variables::new().value("A", "1");
        let one = variables.clone().program("one");
        assert!(one.names().eq(["A"]));
        let resolved = one.clone().resolve().expect("a value");
        assert_eq!(resolved.values()[1], (PROGRAM.to_owned(), "one".to_owned()));
        assert!(!Variables::is_name(PROGRAM));
        assert_ne!(one, variables.program("two"));
        assert!(refused(Variables::new().program("x".repeat(MAX_PROGRAM + 1))).contains("the program has"));
    }

    #[test]
    fn variables_are_equal_if_their_present_values_are() {
        let (_folder, path) = file(b"one");
        let variables = Variables::new().file("A", &path);
        let one = variables.clone().resolve().expect("a value");
        assert_eq!(one, variables.clone().resolve().expect("a value"));
        std::fs::write(&path, "two").expect("written");
        assert_ne!(one, variables.clone().resolve().expect("a value"));
        assert_ne!(one, variables, "it is not resolved");
    }
}
