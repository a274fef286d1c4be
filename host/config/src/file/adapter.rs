//! The names of the adapters.

use std::fmt;

use serde::Deserialize;

/// The HTTP server to run on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Adapter {
    /// axum.
    Axum,
    /// trillium; its list of methods is closed.
    Trillium,
    /// actix-web; without HTTP/2.
    Actix,
    /// salvo.
    Salvo,
    /// Bare hyper.
    #[default]
    Hyper,
}

impl Adapter {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Axum, Self::Trillium, Self::Actix, Self::Salvo, Self::Hyper];

    /// The name in the file and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Axum => "axum",
            Self::Trillium => "trillium",
            Self::Actix => "actix",
            Self::Salvo => "salvo",
            Self::Hyper => "hyper",
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_have_one_name_in_the_file_and_in_messages() {
        for adapter in Adapter::ALL {
            let read: Adapter = serde_json::from_value(adapter.to_string().into()).expect("its name in a file");
            assert_eq!(read, *adapter);
        }
    }
}
