//! The native channels of a configuration, bound to an application (spec C1, C3).

mod durable;
mod nats;
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

/// The native channels of a configuration with their drivers open, and the stores of the durable channels.
///
/// The driver `response` is always there; drivers and stores of `sqlite` and `nats` with the cargo features of these names.
#[derive(Debug)]
pub struct Channels {
    drivers: Vec<(String, OpenDriver)>,
    durable: Vec<durable::Opened>,
    nats: Option<nats::Nats>,
}

#[derive(Debug)]
enum OpenDriver {
    #[cfg(feature = "sqlite")]
    Sqlite(Sqlite),
    /// The events, which [`Nats`](nats::Nats) binds.
    Nats(Vec<String>),
    /// The status of the reply by event.
    Response(BTreeMap<String, u16>),
}

impl Channels {
    /// Opens the driver of every channel, and the stores of durable channels. A file that does not exist is created. It blocks.
    ///
    /// # Errors
    ///
    /// A database cannot be opened, its schema fails, or a statement is invalid; the error names the channel, and the place
    /// of the statement. The journal cannot be opened.
    pub fn open(config: &Config) -> Result<Self> {
        let open = |(name, driver): (&String, &Driver)| {
            let driver = match driver {
                #[cfg(feature = "sqlite")]
                Driver::Sqlite(channel) => OpenDriver::Sqlite(sqlite::open(name, channel, config)?),
                Driver::Nats(events) => OpenDriver::Nats(events.clone()),
                Driver::Response(statuses) => OpenDriver::Response(statuses.clone()),
            };
            Ok((name.clone(), driver))
        };
        Ok(Self {
            drivers: config.channels.iter().map(open).collect::<Result<_>>()?,
            durable: durable::open(config)?,
            nats: nats::Nats::open(config)?,
        })
    }

    /// Binds a listener to each event, and makes the durable channels durable. Databases work on the blocking
    /// threads of `runtime`. Connections to NATS run on the other threads of `runtime`. An unreachable server of NATS is no error.
    ///
    /// # Errors
    ///
    /// An event has a listener already. Those that were bound before stay. A store keeps events of a channel under other
    /// settings. The credentials for NATS cannot be read.
    pub fn bind(&self, app: &App, runtime: &Handle) -> Result<(), pointwork::Error> {
        for (name, driver) in &self.drivers {
            match driver {
                #[cfg(feature = "sqlite")]
                OpenDriver::Sqlite(sqlite) => bind(app, name, sqlite.listeners(runtime))?,
                OpenDriver::Nats(_) => {}
                OpenDriver::Response(statuses) => {
                    let listeners = statuses.iter();
                    let listeners = listeners.map(|(event, status)| (event.as_str(), response::listener(*status)));
                    bind(app, name, listeners)?;
                }
            }
        }
        for durable::Opened { name, options, store } in &self.durable {
            app.make_durable(name, options.clone(), store.clone())?;
        }
        self.nats.as_ref().map_or(Ok(()), |nats| nats.bind(app, runtime))
    }

    /// Name, driver and events of each channel.
    pub fn rows(&self) -> Vec<[String; 3]> {
        let row = |(name, driver): &(String, OpenDriver)| {
            let (driver, events): (_, Vec<&str>) = match driver {
                #[cfg(feature = "sqlite")]
                OpenDriver::Sqlite(sqlite) => ("sqlite", sqlite.events().collect()),
                OpenDriver::Nats(events) => ("nats", events.iter().map(String::as_str).collect()),
                OpenDriver::Response(statuses) => ("response", statuses.keys().map(String::as_str).collect()),
            };
            [name.clone(), driver.to_owned(), events.join(", ")]
        };
        self.drivers.iter().map(row).collect()
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
