//! The native channels of a configuration, bound to an application (spec C1, C3).

mod response;
mod sqlite;

use std::sync::Arc;

use pointwork::App;
use tokio::runtime::Handle;

use crate::config::{Config, Driver, ResponseChannel};
use crate::drivers::sqlite::Sqlite;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Channels whose drivers are ready.
#[derive(Debug)]
pub(crate) struct Channels(Vec<Channel>);

#[derive(Debug)]
struct Channel {
    name: String,
    driver: Ready,
}

#[derive(Debug)]
enum Ready {
    Sqlite(Arc<Sqlite>),
    Response(ResponseChannel),
}

impl Channels {
    /// Makes every driver ready: opens databases, creates those that are not there. It blocks.
    ///
    /// # Errors
    ///
    /// A database or a statement is not as it has to be.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        let open = |(name, driver): (&String, &Driver)| {
            let driver = match driver {
                Driver::Sqlite(channel) => Ready::Sqlite(Arc::new(Sqlite::open(name, channel, &config.file)?)),
                Driver::Response(channel) => Ready::Response(channel.clone()),
            };
            Ok(Channel {
                name: name.clone(),
                driver,
            })
        };
        config.channels.iter().map(open).collect::<Result<_>>().map(Self)
    }

    /// Binds a listener for each event. Drivers block on threads of `blocking`.
    ///
    /// # Errors
    ///
    /// An event's name cannot be one.
    pub(crate) fn bind(&self, app: &App, blocking: &Handle) -> Result<()> {
        let wrong = |error| Error::from(error).with_exit(Exit::Config);
        for Channel { name, driver } in &self.0 {
            let channel = app.channel(name);
            match driver {
                Ready::Sqlite(sqlite) => {
                    for event in sqlite.events() {
                        channel
                            .on_raw(event, sqlite::listener(sqlite.clone(), blocking.clone()))
                            .map_err(wrong)?;
                    }
                }
                Ready::Response(response) => {
                    for (event, status) in &response.on {
                        channel.on_raw(event, response::listener(*status)).map_err(wrong)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Name, driver and events of each channel, for people.
    pub(crate) fn rows(&self) -> Vec<[String; 3]> {
        let row = |Channel { name, driver }: &Channel| {
            let (driver, events): (_, Vec<&str>) = match driver {
                Ready::Sqlite(sqlite) => ("sqlite", sqlite.events().collect()),
                Ready::Response(response) => ("response", response.on.keys().map(String::as_str).collect()),
            };
            [name.clone(), driver.to_owned(), events.join(", ")]
        };
        self.0.iter().map(row).collect()
    }
}
