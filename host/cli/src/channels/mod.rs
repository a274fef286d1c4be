//! The native channels of a configuration, bound to an application (spec C1, C3).

mod response;
mod sqlite;

use pointwork::{App, Listener};
use pointwork_sqlite::Sqlite;
use tokio::runtime::Handle;

use crate::config::{Config, Driver, ResponseChannel};
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The channels by name, with their drivers open.
#[derive(Debug)]
pub(crate) struct Channels(Vec<(String, OpenDriver)>);

#[derive(Debug)]
enum OpenDriver {
    Sqlite(Sqlite),
    Response(ResponseChannel),
}

impl Channels {
    /// Opens the driver of every channel; a database that does not exist is created. It blocks.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        let open = |(name, driver): (&String, &Driver)| {
            let driver = match driver {
                Driver::Sqlite(channel) => OpenDriver::Sqlite(sqlite::open(name, channel, config)?),
                Driver::Response(channel) => OpenDriver::Response(channel.clone()),
            };
            Ok((name.clone(), driver))
        };
        config.channels.iter().map(open).collect::<Result<_>>().map(Self)
    }

    /// Binds a listener to each event. Databases work on the blocking threads of `runtime`.
    pub(crate) fn bind(&self, app: &App, runtime: &Handle) -> Result<()> {
        for (name, driver) in &self.0 {
            match driver {
                OpenDriver::Sqlite(sqlite) => bind(app, name, sqlite.listeners(runtime))?,
                OpenDriver::Response(response) => {
                    let listeners = response.on.iter();
                    let listeners = listeners.map(|(event, status)| (event.as_str(), response::listener(*status)));
                    bind(app, name, listeners)?;
                }
            }
        }
        Ok(())
    }

    /// Name, driver and events of each channel.
    pub(crate) fn rows(&self) -> Vec<[String; 3]> {
        let row = |(name, driver): &(String, OpenDriver)| {
            let (driver, events): (_, Vec<&str>) = match driver {
                OpenDriver::Sqlite(sqlite) => ("sqlite", sqlite.events().collect()),
                OpenDriver::Response(response) => ("response", response.on.keys().map(String::as_str).collect()),
            };
            [name.clone(), driver.to_owned(), events.join(", ")]
        };
        self.0.iter().map(row).collect()
    }
}

fn bind<'a>(app: &App, name: &str, listeners: impl Iterator<Item = (&'a str, impl Listener)>) -> Result<()> {
    let channel = app.channel(name);
    for (event, listener) in listeners {
        channel
            .on_raw(event, listener)
            .map_err(|error| Error::from(error).with_exit(Exit::Config))?;
    }
    Ok(())
}
