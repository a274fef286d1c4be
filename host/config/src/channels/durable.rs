//! The durable channels of the journal.

use std::sync::Arc;

use pointwork::{DurableOptions, EventStore};

use crate::error::{Error, ErrorKind, Result};
use crate::file::{Config, Store};

/// A durable channel with the journal.
#[derive(derive_more::Debug)]
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) options: DurableOptions,
    #[debug(skip)]
    pub(super) store: Arc<dyn EventStore>,
}

/// Opens the journal. It blocks.
pub(super) fn open(config: &Config) -> Result<Vec<Opened>> {
    let mut of_journal = config
        .durable
        .iter()
        .filter(|(_, channel)| channel.store == Store::Sqlite)
        .peekable();
    if of_journal.peek().is_none() {
        return Ok(Vec::new());
    }
    let journal = journal(config)?;
    let channels = of_journal.map(|(name, channel)| Opened {
        name: name.clone(),
        options: channel.options.clone(),
        store: journal.clone(),
    });
    Ok(channels.collect())
}

#[cfg(feature = "sqlite")]
fn journal(config: &Config) -> Result<Arc<dyn EventStore>> {
    use pointwork_journal::{Journal, JournalOptions};

    let in_state = || config.state.as_ref().map(|state| state.join("events.sqlite"));
    let path = config.journal.path.clone().or_else(in_state).ok_or_else(|| {
        Error::new(
            ErrorKind::Invalid,
            "there is no file for the events of durable channels",
        )
        .with_hint("name one: `path` in [journal], or a state directory, which then has it")
    })?;
    let mut options = JournalOptions::new().path(path);
    config.journal.limits.apply(&mut options);
    let journal = Journal::shared(options).map_err(|error| {
        Error::new(ErrorKind::Host, error.to_string())
            .with_causes_of(&error)
            .with_optional_hint(error.hint())
    })?;
    Ok(journal)
}

#[cfg(not(feature = "sqlite"))]
fn journal(_config: &Config) -> Result<Arc<dyn EventStore>> {
    let error = Error::new(ErrorKind::Invalid, "this program has no store `sqlite`");
    Err(error.with_hint("build it with the feature `sqlite` of pointwork-config"))
}
