//! The native channels of a configuration, bound to an application (spec C1, C3).

mod response;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::collections::BTreeMap;

use pointwork::{App, Listener};
#[cfg(feature = "sqlite")]
use pointwork_sqlite::Sqlite;
use tokio::runtime::Handle;

use crate::error::Result;
use crate::file::{Config, Driver};

/// The native channels of a configuration, with their drivers open.
///
/// The driver `response` is always there, `sqlite` with the cargo feature of that name.
#[derive(Debug)]
pub struct Channels(Vec<(String, OpenDriver)>);

#[derive(Debug)]
enum OpenDriver {
    #[cfg(feature = "sqlite")]
    Sqlite(Sqlite),
    /// The status of the reply by event.
    Response(BTreeMap<String, u16>),
}

impl Channels {
    /// Opens the driver of every channel. A database that does not exist is created. It blocks.
    ///
    /// # Errors
    ///
    /// A database cannot be opened, its schema fails, or a statement is invalid; the error names the channel, and the place
    /// of the statement.
    pub fn open(config: &Config) -> Result<Self> {
        let open = |(name, driver): (&String, &Driver)| {
            let driver = match driver {
                #[cfg(feature = "sqlite")]
                Driver::Sqlite(channel) => OpenDriver::Sqlite(sqlite::open(name, channel, config)?),
                Driver::Response(statuses) => OpenDriver::Response(statuses.clone()),
            };
            Ok((name.clone(), driver))
        };
        config.channels.iter().map(open).collect::<Result<_>>().map(Self)
    }

    /// Binds a listener to each event. Databases work on the blocking threads of `runtime`.
    ///
    /// # Errors
    ///
    /// An event has a listener already. Those that were bound before stay.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(unused_variables, reason = "no driver needs the threads")
    )]
    pub fn bind(&self, app: &App, runtime: &Handle) -> Result<(), pointwork::Error> {
        for (name, driver) in &self.0 {
            match driver {
                #[cfg(feature = "sqlite")]
                OpenDriver::Sqlite(sqlite) => bind(app, name, sqlite.listeners(runtime))?,
                OpenDriver::Response(statuses) => {
                    let listeners = statuses.iter();
                    let listeners = listeners.map(|(event, status)| (event.as_str(), response::listener(*status)));
                    bind(app, name, listeners)?;
                }
            }
        }
        Ok(())
    }

    /// Name, driver and events of each channel.
    pub fn rows(&self) -> Vec<[String; 3]> {
        let row = |(name, driver): &(String, OpenDriver)| {
            let (driver, events): (_, Vec<&str>) = match driver {
                #[cfg(feature = "sqlite")]
                OpenDriver::Sqlite(sqlite) => ("sqlite", sqlite.events().collect()),
                OpenDriver::Response(statuses) => ("response", statuses.keys().map(String::as_str).collect()),
            };
            [name.clone(), driver.to_owned(), events.join(", ")]
        };
        self.0.iter().map(row).collect()
    }
}

fn bind<'a>(
    app: &App,
    name: &str,
    listeners: impl Iterator<Item = (&'a str, impl Listener)>,
) -> Result<(), pointwork::Error> {
    let channel = app.channel(name);
    for (event, listener) in listeners {
        channel.on_raw(event, listener)?;
    }
    Ok(())
}
