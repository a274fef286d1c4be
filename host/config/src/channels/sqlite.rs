//! Channels of the driver `sqlite`.

use pointwork_sqlite::Sqlite;

use crate::error::{Error, ErrorKind, Result};
use crate::file::{Config, SqliteChannel};

/// Opens the database of the channel `name`; an error in a statement has its place. It blocks.
pub(super) fn open(name: &str, channel: &SqliteChannel, config: &Config) -> Result<Sqlite> {
    Sqlite::open(channel.options.clone()).map_err(|error| {
        let span = error.event().and_then(|event| channel.spans.get_key_value(event));
        let (kind, message) = match span {
            Some((event, span)) => {
                let place = config.source.place(span);
                let message = format!("event `{event}` of channel `{name}` in {place} has an invalid statement");
                (ErrorKind::Invalid, message)
            }
            None => (ErrorKind::Host, format!("channel `{name}`: {error}")),
        };
        Error::new(kind, message)
            .with_causes_of(&error)
            .with_optional_hint(error.hint())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Driver;

    #[test]
    fn database_that_cannot_be_opened_is_refused_with_its_channel() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(folder.path().join("shop.sqlite")).expect("created");
        let text = "[channels.db]\ndriver = 'sqlite'\npath = 'shop.sqlite'";
        let config = Config::parse(text, folder.path().join("pointwork.toml")).expect("a configuration");
        let Driver::Sqlite(channel) = &config.channels["db"] else {
            panic!("`db` is a channel of the driver `sqlite`");
        };
        let error = open("db", channel, &config).expect_err("it is a directory");
        let sentence = error.to_string();
        assert!(
            sentence.starts_with("channel `db`: cannot open the database `"),
            "{sentence}"
        );
        assert_eq!(error.kind(), ErrorKind::Host);
    }
}
