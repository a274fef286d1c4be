//! Binds an application to NATS: the driver, the store and `[[serve]]`.

use pointwork::App;
use tokio::runtime::Handle;

use crate::error::{Error, ErrorKind, Result};
use crate::file::{Config, Driver, Store};

/// The first driver, store or `[[serve]]` that needs servers of NATS, as words of a message.
fn what_needs_it(config: &Config) -> Option<String> {
    let mut drivers = config.channels.iter();
    let driver = drivers.find(|(_, driver)| matches!(driver, Driver::Nats(_)));
    let store = config.durable.iter().find(|(_, channel)| channel.store == Store::Nats);
    let of_driver = driver.map(|(name, _)| format!("the driver of the channel `{name}`"));
    let of_store = store.map(|(name, _)| format!("the store of the durable channel `{name}`"));
    let served = config
        .serve
        .keys()
        .next()
        .map(|name| format!("`[[serve]]` of the channel `{name}`"));
    of_driver.or(of_store).or(served)
}

#[cfg(not(feature = "nats"))]
#[derive(Debug)]
pub(super) enum Nats {}

#[cfg(not(feature = "nats"))]
impl Nats {
    pub(super) fn open(config: &Config) -> Result<Option<Self>> {
        what_needs_it(config).map_or(Ok(None), |what| {
            let error = Error::new(
                ErrorKind::Invalid,
                format!("{what} needs NATS, which this program does not have"),
            );
            Err(error.with_hint("build it with the feature `nats` of pointwork-config"))
        })
    }

    pub(super) fn bind(&self, _: &App, _: &Handle) -> Result<(), pointwork::Error> {
        match *self {}
    }
}

#[cfg(feature = "nats")]
#[derive(Debug)]
pub(super) struct Nats {
    options: pointwork_nats::NatsOptions,
    payload: usize,
    /// The events of each channel elsewhere.
    remote: Vec<(String, Vec<String>)>,
    durable: Vec<(String, pointwork::DurableOptions)>,
    serve: Vec<(String, u16)>,
}

#[cfg(feature = "nats")]
impl Nats {
    /// Reads what is to be bound; nothing connects yet.
    pub(super) fn open(config: &Config) -> Result<Option<Self>> {
        let Some(what) = what_needs_it(config) else {
            return Ok(None);
        };
        let Some(nats) = &config.nats else {
            let error = Error::new(ErrorKind::Invalid, format!("{what} needs servers of NATS"));
            return Err(error.with_hint("name them: servers = [\"nats://127.0.0.1:4222\"] in [nats]"));
        };
        let options = pointwork_nats::NatsOptions {
            servers: nats.servers.clone(),
            credentials_file: nats.credentials_file.clone(),
            ca_file: nats.ca_file.clone(),
            prefix: nats.prefix.clone(),
            ..pointwork_nats::NatsOptions::default()
        };
        options
            .check()
            .map_err(|error| Error::new(ErrorKind::Host, error.to_string()).with_causes_of(&error))?;
        let mut bus = pointwork_core::BusOptions::default();
        config.limits.apply(&mut bus);
        let remote = config.channels.iter().filter_map(|(name, driver)| match driver {
            Driver::Nats(events) => Some((name.clone(), events.clone())),
            _ => None,
        });
        let durable = config
            .durable
            .iter()
            .filter(|(_, channel)| channel.store == Store::Nats);
        Ok(Some(Self {
            options,
            payload: bus.payload_limit,
            remote: remote.collect(),
            durable: durable
                .map(|(name, channel)| (name.clone(), channel.options.clone()))
                .collect(),
            serve: config
                .serve
                .iter()
                .map(|(name, at_once)| (name.clone(), *at_once))
                .collect(),
        }))
    }

    /// Begins to connect, and binds what goes over the connection.
    pub(super) fn bind(&self, app: &App, runtime: &Handle) -> Result<(), pointwork::Error> {
        let connection = pointwork_nats::Connection::open_blocking(self.options.clone(), runtime)?;
        connection.expect_payloads_of(self.payload);
        for (name, events) in &self.remote {
            let listeners = events.iter().map(|event| (event.as_str(), connection.listener(name)));
            super::bind(app, name, listeners)?;
        }
        let store = std::sync::Arc::new(pointwork_nats::NatsStore::new(connection.clone()));
        for (name, options) in &self.durable {
            app.make_durable(name, options.clone(), store.clone())?;
        }
        for (name, at_once) in &self.serve {
            let starting = app
                .bus()
                .not_ready_until(format!("the channel `{name}` is not served yet"));
            connection.serve(app.caller(), name, *at_once, starting);
        }
        Ok(())
    }
}
