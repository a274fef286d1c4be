//! The variables that a module declares to need, in its metadata `variables-schema`: a JSON schema of an object.
//!
//! ```json
//! {"properties": {"PORT": {"type": "integer", "minimum": 0, "maximum": 65535}, "TOKEN": {"type": "string"}}, "required": ["TOKEN"]}
//! ```
//!
//! Of each property, the types `string`, `integer`, `number` and `boolean` are checked, the bounds of numbers, and of strings the
//! number of characters and the list of values. What else the schema says is for the module itself. A value that fits is one that
//! the SDK of the module reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pointwork_core::one_line;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::guest::bindings::types::Property;
use crate::variables::MAX_VARIABLES;
use crate::{Error, ErrorKind, Variables};

/// The key of the metadata.
const KEY: &str = "variables-schema";

/// The most missing variables that an error names.
const MAX_SHOWN: usize = 16;

/// The variables that a module needs.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NeededVariables {
    #[serde(default)]
    properties: BTreeMap<String, Expected>,
    #[serde(default)]
    required: Vec<String>,
}

/// The type of a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    r#type: Option<String>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    r#enum: Option<Vec<Value>>,
}

impl NeededVariables {
    /// # Errors
    /// The metadata is no such schema, or names what cannot be a variable. The message is one line.
    pub(super) fn read(module: &str, metadata: &[Property]) -> Result<Self, String> {
        let Some(schema) = metadata.iter().find(|property| property.name == KEY) else {
            return Ok(Self::default());
        };
        let refused = |problem: String| format!("the metadata `{KEY}` of module `{module}` {problem}");
        let needed: Self = serde_json::from_str(&schema.value).map_err(|error| {
            // The error may quote the schema.
            let error = one_line(&error.to_string(), 256).to_string();
            refused(format!("is not the JSON schema of an object: {error}"))
        })?;
        let count = needed.properties.len().max(needed.required.len());
        if count > MAX_VARIABLES {
            return Err(refused(format!(
                "has {count} variables, expected at most {MAX_VARIABLES}"
            )));
        }
        let mut names = needed.properties.keys().chain(&needed.required);
        match names.find(|name| !Variables::is_name(name)) {
            Some(name) => {
                let name = one_line(name, 128);
                Err(refused(format!("names `{name}`, which is not the name of a variable")))
            }
            None => Ok(needed),
        }
    }

    /// Checks that the variables are there, and fit their types. No error shows a value.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with the names of the missing ones, or the first that does not fit.
    pub(crate) fn check(&self, variables: &Variables) -> Result<(), Error> {
        let values: BTreeMap<_, _> = variables.values().iter().map(|(name, value)| (name, value)).collect();
        let missing: Vec<_> = self.required.iter().filter(|name| !values.contains_key(name)).collect();
        if !missing.is_empty() {
            let shown = &missing[..missing.len().min(MAX_SHOWN)];
            let mut names = shown
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ");
            if missing.len() > MAX_SHOWN {
                let _ = write!(names, " and {} more", missing.len() - MAX_SHOWN);
            }
            let mut hint = "set them below its [[module]]:\n\n[module.variables]".to_owned();
            for name in shown {
                // A name with other characters than most is a quoted key.
                let _ = write!(hint, "\n{} = \"…\"", key(name));
            }
            let message = format!("it needs the variables {names}, which are not configured");
            return Err(Error::new(ErrorKind::Refused, message).with_hint(hint));
        }
        for (name, expected) in &self.properties {
            if let Some(value) = values.get(name)
                && let Err(expected) = expected.check(value)
            {
                let message = format!("the variable `{name}` does not fit: expected {expected}");
                return Err(Error::new(ErrorKind::Refused, message));
            }
        }
        Ok(())
    }
}

impl Expected {
    /// # Errors
    /// What was expected.
    fn check(&self, value: &str) -> Result<(), String> {
        let fits = match self.r#type.as_deref() {
            Some("string") => {
                let length = value.chars().count() as u64;
                self.min_length.is_none_or(|least| least <= length)
                    && self.max_length.is_none_or(|most| length <= most)
                    && self
                        .r#enum
                        .as_ref()
                        .is_none_or(|values| values.iter().any(|one| one == value))
            }
            Some("integer") => {
                // A type without a sign does not read `-0`.
                let may_have_sign = self
                    .minimum
                    .as_ref()
                    .and_then(Number::as_i128)
                    .is_none_or(|least| least < 0);
                (may_have_sign || !value.starts_with('-'))
                    && value
                        .parse()
                        .is_ok_and(|value: i128| self.is_within(value, Number::as_i128))
            }
            Some("number") => value
                .parse()
                .is_ok_and(|value: f64| value.is_finite() && self.is_within(value, Number::as_f64)),
            Some("boolean") => matches!(value, "true" | "false"),
            _ => true,
        };
        if fits { Ok(()) } else { Err(self.describe()) }
    }

    /// Whether a number is within the bounds. A bound of another type is for the module itself.
    fn is_within<T: PartialOrd>(&self, value: T, bound: fn(&Number) -> Option<T>) -> bool {
        self.minimum.as_ref().and_then(bound).is_none_or(|least| least <= value)
            && self.maximum.as_ref().and_then(bound).is_none_or(|most| value <= most)
    }

    fn describe(&self) -> String {
        let within = |what: &str| match (&self.minimum, &self.maximum) {
            (Some(minimum), Some(maximum)) => format!("{what} from {minimum} to {maximum}"),
            (Some(minimum), None) => format!("{what} from {minimum}"),
            (None, Some(maximum)) => format!("{what} up to {maximum}"),
            (None, None) => what.to_owned(),
        };
        match self.r#type.as_deref() {
            Some("integer") => within("a whole number"),
            Some("number") => within("a number"),
            Some("boolean") => "`true` or `false`".to_owned(),
            _ => self.describe_text(),
        }
    }

    fn describe_text(&self) -> String {
        if let Some(values) = &self.r#enum {
            let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            return format!("one of `{}`", one_line(&values.join("`, `"), 256));
        }
        match (self.min_length, self.max_length) {
            (Some(1), Some(1)) => "one character".to_owned(),
            (Some(least), Some(most)) => format!("a text of {least} to {most} characters"),
            (Some(least), None) => format!("a text of at least {least} characters"),
            (_, most) => format!("a text of at most {} characters", most.unwrap_or_default()),
        }
    }
}

/// The name as a key of TOML.
fn key(name: &str) -> String {
    if name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{
        "type": "object",
        "properties": {
            "PORT": { "type": "integer", "minimum": 0, "maximum": 18446744073709551615, "description": "of the shop" },
            "RATE": { "type": "number", "minimum": -1.5, "maximum": 3.4028235e38 }, "DEBUG": { "type": "boolean" },
            "OFFSET": { "type": "integer", "minimum": -128, "maximum": 127 }, "TOKEN": { "type": "string" },
            "MARK": { "type": "string", "minLength": 1, "maxLength": 1 }, "ODD": { "enum": [1] },
            "CURRENCY": { "type": "string", "enum": ["EUR", "JPY", 1] }, "CODE": { "type": "string", "minLength": 2 },
            "NOTE": { "type": "string", "maxLength": 2 }, "KEY": { "type": "string", "minLength": 2, "maxLength": 4 }
        },
        "required": ["TOKEN", "PORT"]
    }"#;

    fn read(schema: &str) -> Result<NeededVariables, String> {
        let property = |name: &str, value: &str| Property {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        NeededVariables::read("m", &[property("description", "{}"), property(KEY, schema)])
    }

    fn checked(variables: &[(&str, &str)]) -> Result<(), String> {
        let given = variables
            .iter()
            .fold(Variables::new(), |all, (name, value)| all.value(*name, *value));
        let needed = read(SCHEMA).expect("a schema");
        let error = needed.check(&given.resolve().expect("values")).err();
        error.map_or(Ok(()), |error| {
            Err(format!("{error}|{}", error.hint().unwrap_or_default()))
        })
    }

    #[test]
    fn all_that_is_missing_is_named_with_the_lines_to_add() {
        let needed = NeededVariables::read("m", &[]).expect("nothing");
        needed.check(&Variables::new()).expect("it needs none");
        let error = checked(&[("PROT", "1")]).expect_err("two are missing");
        assert_eq!(
            error,
            "it needs the variables `TOKEN`, `PORT`, which are not configured|set them below its [[module]]:\n\n\
             [module.variables]\nTOKEN = \"…\"\nPORT = \"…\""
        );
    }

    #[test]
    fn of_many_that_are_missing_some_are_named() {
        let many: Vec<_> = (0..20).map(|number| format!("V{number}")).collect();
        let needed = read(&serde_json::json!({ "required": many }).to_string()).expect("a schema");
        let error = needed.check(&Variables::new()).expect_err("all are missing");
        let message = error.to_string();
        assert!(
            message.ends_with("`V15` and 4 more, which are not configured"),
            "{message}"
        );
    }

    #[test]
    fn a_value_of_another_type_is_named_and_not_shown() {
        for (name, value, expected) in [
            ("PORT", "sesame", "a whole number from 0 to 18446744073709551615"),
            ("PORT", "-1", "a whole number from 0 to 18446744073709551615"),
            (
                "PORT",
                "18446744073709551616",
                "a whole number from 0 to 18446744073709551615",
            ),
            ("PORT", " 1", "a whole number from 0 to 18446744073709551615"),
            ("PORT", "-0", "a whole number from 0 to 18446744073709551615"),
            ("OFFSET", "128", "a whole number from -128 to 127"),
            ("RATE", "1,5", "a number from -1.5 to 3.4028235e+38"),
            ("RATE", "inf", "a number from -1.5 to 3.4028235e+38"),
            ("RATE", "NaN", "a number from -1.5 to 3.4028235e+38"),
            ("RATE", "1e39", "a number from -1.5 to 3.4028235e+38"),
            ("RATE", "-2", "a number from -1.5 to 3.4028235e+38"),
            ("MARK", "", "one character"),
            ("MARK", "ab", "one character"),
            ("CURRENCY", "eur", "one of `EUR`, `JPY`"),
            ("CURRENCY", "1", "one of `EUR`, `JPY`"),
            ("CODE", "a", "a text of at least 2 characters"),
            ("NOTE", "abc", "a text of at most 2 characters"),
            ("KEY", "abcde", "a text of 2 to 4 characters"),
            ("DEBUG", "yes", "`true` or `false`"),
        ] {
            let mut given = vec![("TOKEN", ""), ("PORT", "1")];
            given.retain(|(other, _)| *other != name);
            given.push((name, value));
            let error = checked(&given).expect_err("it does not fit");
            assert_eq!(
                error,
                format!("the variable `{name}` does not fit: expected {expected}|")
            );
        }
        let given = [
            ("TOKEN", ""),
            ("PORT", "65535"),
            ("OFFSET", "-0"),
            ("RATE", "1.5"),
            ("MARK", "ä"),
            ("CURRENCY", "EUR"),
            ("CODE", "äö"),
            ("NOTE", ""),
            ("KEY", "+1"),
            ("DEBUG", "true"),
            ("ODD", "x"),
            ("MORE", "x"),
        ];
        checked(&given).expect("all of them fit");
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        for (schema, problem) in [
            ("[]x", "is not the JSON schema of an object: "),
            ("{ \"required\": [1] }", "is not the JSON schema of an object: "),
            (
                "{ \"properties\": { \"A\": { \"type\": 1 } } }",
                "is not the JSON schema of an object: ",
            ),
            (
                "{ \"required\": [\"A=B\"] }",
                "names `A=B`, which is not the name of a variable",
            ),
            (
                "{ \"properties\": { \"\": {} } }",
                "names ``, which is not the name of a variable",
            ),
        ] {
            let error = read(schema).expect_err("it is refused");
            assert!(
                error.starts_with(&format!("the metadata `variables-schema` of module `m` {problem}")),
                "{error}"
            );
        }
        let error = read(&format!("\"\u{202e}{}\"", "x".repeat(10_000))).expect_err("it is a string");
        assert!(!error.contains('\u{202e}') && error.len() < 512, "{error}");
        let many: Vec<_> = (0..257).map(|number| format!("V{number}")).collect();
        let error = read(&serde_json::json!({ "required": many }).to_string()).expect_err("too many");
        assert!(error.ends_with("has 257 variables, expected at most 256"), "{error}");
    }
}
