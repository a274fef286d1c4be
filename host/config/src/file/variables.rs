//! The tables `[module.variables]`: the configuration of a module. No error shows a value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use pointwork::Variables;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::problem::Problem;

/// The variables of a module, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct VariableTable(BTreeMap<Spanned<String>, Spanned<Variable>>);

/// A variable: its value, or the place where the host finds it.
#[derive(Clone, PartialEq, Eq)]
enum Variable {
    Text(String),
    /// The value of this variable of the host.
    Env(Spanned<String>),
    /// The text of this file.
    File(Spanned<PathBuf>),
}

impl VariableTable {
    /// Checks the names and the texts. Paths become relative to `base`.
    pub(super) fn check(&mut self, base: &Path) -> Result<(), Problem> {
        let no_name = |span, message: String| {
            Problem::new(span, message).with_hint("a name has 1 to 255 bytes, all of them printable, and no `=`")
        };
        for (name, variable) in &mut self.0 {
            if !Variables::is_name(name.get_ref()) {
                let message = format!("`{}` is not the name of a variable", name.get_ref().escape_debug());
                return Err(no_name(name.span(), message));
            }
            let span = variable.span();
            match variable.get_mut() {
                Variable::Text(text) if text.contains('\0') => {
                    return Err(Problem::new(span, format!("the value of `{name}` has a zero byte")));
                }
                Variable::Text(_) => {}
                // Without the text, which may be the value itself.
                Variable::Env(source) if !Variables::is_name(source.get_ref()) => {
                    let message = format!("`env` of `{name}` is not the name of an environment variable");
                    return Err(no_name(source.span(), message));
                }
                Variable::Env(_) => {}
                Variable::File(path) if path.get_ref().as_os_str().is_empty() => {
                    return Err(Problem::new(path.span(), "the path of the file is empty"));
                }
                Variable::File(path) => *path.get_mut() = base.join(path.get_ref()),
            }
        }
        Ok(())
    }

    /// The files with values.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.values().filter_map(|variable| match variable.get_ref() {
            Variable::File(path) => Some(&**path.get_ref()),
            Variable::Text(_) | Variable::Env(_) => None,
        })
    }

    /// The variables for the options of the module.
    pub(crate) fn variables(&self) -> Variables {
        self.0.iter().fold(Variables::new(), |variables, (name, variable)| {
            let name = name.get_ref();
            match variable.get_ref() {
                Variable::Text(text) => variables.value(name, text),
                Variable::Env(source) => variables.env(name, source.get_ref()),
                Variable::File(path) => variables.file(name, path.get_ref()),
            }
        })
    }
}

/// Without its value.
impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Env(source) => f.debug_tuple("Env").field(source).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ValuePlace {
    env: Option<Spanned<String>>,
    file: Option<Spanned<PathBuf>>,
}

const EXPECTED: &str = "a string, { env = \"HOST_VARIABLE\" } or { file = \"PATH\" }";

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// serde's own messages would show values of other types.
        fn not<E: de::Error>(kind: &str) -> Result<Variable, E> {
            Err(E::custom(format_args!(
                "the value of a variable is {kind}, expected {EXPECTED}"
            )))
        }

        struct TextOrPlace;

        impl<'de> Visitor<'de> for TextOrPlace {
            type Value = Variable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Variable, E> {
                Ok(Variable::Text(text.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Variable, E> {
                not("a truth value")
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Variable, E> {
                not("a number")
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Variable, E> {
                not("a number")
            }

            fn visit_i128<E: de::Error>(self, _: i128) -> Result<Variable, E> {
                not("a number")
            }

            fn visit_u128<E: de::Error>(self, _: u128) -> Result<Variable, E> {
                not("a number")
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Variable, E> {
                not("a number")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Variable, A::Error> {
                not("a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Variable, A::Error> {
                match ValuePlace::deserialize(MapAccessDeserializer::new(map))? {
                    ValuePlace {
                        env: Some(source),
                        file: None,
                    } => Ok(Variable::Env(source)),
                    ValuePlace {
                        env: None,
                        file: Some(path),
                    } => Ok(Variable::File(path)),
                    _ => not("a table without exactly one of the keys `env` and `file`"),
                }
            }
        }

        deserializer.deserialize_any(TextOrPlace)
    }
}
