//! Errors in a configuration, with their place.

use std::ops::Range;

use pointwork_core::one_line;

use super::limits::LimitTable;
use super::source::Source;
use crate::error::{Error, ErrorKind};
use crate::suggest;

/// An error in a configuration.
#[derive(Debug)]
pub(super) struct Problem {
    message: String,
    hint: Option<String>,
    span: Option<Range<usize>>,
}

impl Problem {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            span: Some(span),
        }
    }

    /// An error in the whole.
    pub(super) fn of_all(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            span: None,
        }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An unknown word, with the nearest of the expected ones or all of them.
    pub(super) fn unknown(span: Range<usize>, kind: &str, given: &str, expected: &[&str]) -> Self {
        let problem = Self::new(span, format!("unknown {kind} `{given}`"));
        if let Some(place) = LimitTable::of_limit(given) {
            return problem.with_hint(format!("the limit `{given}` is {place}"));
        }
        match suggest::nearest(given, expected.iter().copied()) {
            Some(near) => problem.with_hint(format!("did you mean `{near}`?")),
            None => problem.with_hint(format!("expected {}", suggest::list(expected.iter().copied(), "or"))),
        }
    }

    /// An error of serde. `others` are further keys that are expected where the unknown one stands.
    pub(super) fn from_toml(error: &toml::de::Error, others: &[&str]) -> Self {
        let span = error.span();
        // serde names the words that it expected in a sentence only. A test covers the sentence. If it changes, the user
        // sees the sentence itself.
        for (prefix, kind) in [("unknown field ", "key"), ("unknown variant ", "value")] {
            if let Some((given, mut expected)) = error.message().strip_prefix(prefix).and_then(words) {
                expected.extend(others);
                return Self::unknown(span.unwrap_or_default(), kind, given, &expected);
            }
        }
        let message = match error.message().strip_prefix("missing field ") {
            Some(key) => format!("missing key {key}"),
            None => error.message().lines().map(str::trim).collect::<Vec<_>>().join("; "),
        };
        Self {
            message: without_value(&message).unwrap_or(message),
            hint: None,
            span,
        }
    }

    /// The error for the user, with the place in the source.
    pub(super) fn into_error(self, source: &Source) -> Error {
        let place = match self.span {
            Some(span) => source.place(&span),
            None => source.whole(),
        };
        // A key in quotes may have any character.
        let message = format!("{} in {place}", one_line(&self.message, usize::MAX));
        Error::new(ErrorKind::Invalid, message).with_optional_hint(self.hint)
    }
}

impl From<toml::de::Error> for Problem {
    fn from(error: toml::de::Error) -> Self {
        Self::from_toml(&error, &[])
    }
}

/// serde's sentence about a value of a wrong type, without the value: the value of a variable may stand under another key (spec V3).
fn without_value(sentence: &str) -> Option<String> {
    let start = if sentence.starts_with("invalid value: ") {
        "invalid value: "
    } else {
        "invalid type: "
    };
    // The value may have the separator, too.
    let (given, expected) = sentence.strip_prefix(start)?.rsplit_once(", expected ")?;
    let (kind, _) = given.split_once(['`', '"'])?;
    Some(format!("{start}{}, expected {expected}", kind.trim_end()))
}

/// The words in backticks: the first one and the others.
fn words(sentence: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = sentence.split('`').skip(1).step_by(2);
    Some((words.next()?, words.collect()))
}
