//! Channels of the driver `sqlite`.

use std::path::Path;

use pointwork_sqlite::Sqlite;

use crate::config::SqliteChannel;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Opens the database of the channel `name`; `file` is the configuration, for errors. It blocks.
///
/// # Errors
///
/// The database cannot be opened, the schema fails or a statement is invalid: exit code 3, with the place in the file.
pub(super) fn open(name: &str, channel: &SqliteChannel, file: &Path) -> Result<Sqlite> {
    Sqlite::open(channel.options.clone()).map_err(|error| {
        let position = error.event().and_then(|event| channel.positions.get_key_value(event));
        let message = match position {
            Some((event, position)) => {
                let file = file.display();
                format!("event `{event}` of channel `{name}` in {file}:{position} has an invalid statement")
            }
            None => format!("channel `{name}`: {error}"),
        };
        Error::new(Exit::Config, message)
            .with_causes_of(&error)
            .with_optional_hint(error.hint())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Driver};

    /// Sentence and exit code of the refusal of a channel with one event.
    fn refusal(folder: &Path, event: &str) -> (String, Exit) {
        let text = format!("[channels.db]\ndriver = 'sqlite'\npath = 'shop.sqlite'\n{event}");
        let config = Config::parse(&text, &folder.join("pointwork.toml")).expect("a configuration");
        let Driver::Sqlite(channel) = &config.channels["db"] else {
            panic!("`db` is a channel of the driver `sqlite`");
        };
        let error = open("db", channel, Path::new("pointwork.toml")).expect_err("it is refused");
        (error.in_one_line(), error.exit())
    }

    #[test]
    fn invalid_statement_is_refused_with_event_and_place() {
        let folder = tempfile::tempdir().expect("a directory");
        let (sentence, exit) = refusal(folder.path(), "on.all.query = 'SELEC 1'");
        assert_eq!(
            sentence,
            "event `all` of channel `db` in pointwork.toml:4:16 has an invalid statement: near \"SELEC\": syntax error"
        );
        assert_eq!(exit, Exit::Config);
    }

    #[test]
    fn database_that_cannot_be_opened_is_refused_with_its_channel() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(folder.path().join("shop.sqlite")).expect("created");
        let (sentence, exit) = refusal(folder.path(), "");
        assert!(
            sentence.starts_with("channel `db`: cannot open the database `"),
            "{sentence}"
        );
        assert_eq!(exit, Exit::Config);
    }
}
