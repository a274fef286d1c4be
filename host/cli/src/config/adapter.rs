//! The names of the adapters.

use std::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Deserialize;

/// The HTTP server to run on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Adapter {
    /// axum
    Axum,
    /// trillium; its list of methods is closed
    Trillium,
    /// actix-web; without HTTP/2
    Actix,
    /// salvo
    Salvo,
    /// Bare hyper
    #[default]
    Hyper,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", PossibleValue::get_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_have_one_name_on_the_command_line_in_the_file_and_in_messages() {
        for adapter in Adapter::value_variants() {
            let shown = adapter.to_string();
            assert_eq!(
                adapter.to_possible_value().expect("none is hidden").get_name(),
                shown.as_str()
            );
            let read: Adapter = serde_json::from_value(shown.into()).expect("its name in a file");
            assert_eq!(read, *adapter);
        }
    }
}
