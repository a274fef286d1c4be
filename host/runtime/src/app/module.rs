//! One version of a module: loaded whole, ready to serve.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pointwork_core::routing::DeclaredRoute;
use pointwork_core::{Bus, Origin, Route, RouteRecord, Subscription};

use crate::component::engine::Engines;
use crate::component::inspect::Form;
use crate::component::link::{Compiled, compile};
use crate::component::manifest::Manifest;
use crate::guest::bindings::exports::pointwork::module::channels::Channel;
use crate::instance::handlers::Instances;
use crate::scheduling::metrics::Metrics;
use crate::scheduling::status::Usage;
use crate::scheduling::threads::Threads;
use crate::{Capability, Error, ErrorKind, ModuleOptions};

/// A loaded module, as the application lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleInfo {
    /// The name under which it was loaded.
    pub name: String,
    /// The form of its handlers and listeners.
    pub form: Form,
    /// The version of the contract that it was built against.
    pub version: String,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// Its size in bytes.
    pub size: usize,
    /// The number of routes that it declares.
    pub routes: usize,
    /// The channels that it declares, in its order.
    pub channels: Vec<ChannelInfo>,
    /// The capabilities that it imports, beyond the contract.
    pub capabilities: Vec<Capability>,
    /// The capabilities that it is granted, one text each; see [`Grants::describe`](crate::Grants::describe).
    pub granted: Vec<String>,
    /// Declarations that are legal but probably mistakes, a sentence each: a method in lower case, a method `ALL`. They are
    /// logged at load too.
    pub warnings: Vec<String>,
}

/// A channel of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelInfo {
    /// Its name.
    pub name: String,
    /// The names of its events, in the module's order.
    pub events: Vec<String>,
}

impl ChannelInfo {
    fn of(channel: &Channel) -> Self {
        let events = channel.listeners.iter().map(|listener| listener.event.clone());
        Self {
            name: channel.name.clone(),
            events: events.collect(),
        }
    }
}

pub(crate) struct Module {
    pub(crate) info: ModuleInfo,
    pub(crate) options: ModuleOptions,
    manifest: Arc<Manifest>,
    instances: Arc<Instances>,
}

impl Module {
    /// Checks and compiles a component, and reads its declarations.
    pub(crate) async fn load(
        name: &str,
        bytes: Arc<[u8]>,
        options: ModuleOptions,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
        bus: &Bus,
    ) -> Result<Self, Error> {
        let digest = crate::digest(&bytes);
        if let Some(expected) = &options.digest
            && !expected.eq_ignore_ascii_case(&digest)
        {
            let message = format!("the component has the SHA-256 `{digest}`, expected `{expected}`");
            return Err(Error::new(ErrorKind::Read, message).with_hint("the file may be truncated, or another one"));
        }
        let size = bytes.len();
        let compiled = compile(name, bytes, &options, engines, threads, bus.caller()).await?;
        let Compiled { pre, inspection, fit } = compiled;
        let pre = Arc::new(pre);
        let manifest = Manifest::read(&pre, threads).await?;
        let info = ModuleInfo {
            name: name.to_owned(),
            form: fit.form,
            version: fit.version,
            digest,
            size,
            routes: manifest.routes.len(),
            channels: manifest.channels.iter().map(ChannelInfo::of).collect(),
            capabilities: inspection.capabilities(),
            granted: options.grants.describe(),
            warnings: crate::component::lint::warnings(&manifest.routes),
        };
        Ok(Self {
            info,
            options,
            manifest: Arc::new(manifest),
            instances: Arc::new(Instances::new(fit.form, pre, threads.clone())),
        })
    }

    /// The same version without instances, with fresh metrics.
    pub(crate) fn anew(&self) -> Self {
        Self {
            info: self.info.clone(),
            options: self.options.clone(),
            manifest: self.manifest.clone(),
            instances: Arc::new(self.instances.anew()),
        }
    }

    pub(crate) fn declares_routes(&self) -> bool {
        !self.manifest.routes.is_empty()
    }

    /// Its routes under a prefix, in its order.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a route cannot stand under the prefix.
    pub(crate) fn routes(&self, prefix: &str, origin: Origin) -> Result<Vec<Route>, Error> {
        let route = |declared: &DeclaredRoute| {
            let message = || format!("the routes of module `{}` cannot be prefixed", self.info.name);
            let pattern = declared.pattern.prefixed(prefix);
            let pattern = pattern.map_err(|error| Error::new(ErrorKind::Refused, message()).with_source(error))?;
            let record = RouteRecord {
                method: declared.filter.to_string(),
                path: pattern.as_str().to_owned(),
                origin,
                module: Some(self.info.name.clone()),
                controller: Some(declared.controller.to_string()),
                handler: Some(declared.handler_name.to_string()),
                unavailable_on: Vec::new(),
            };
            let name = || format!("{}.{}", declared.controller, declared.handler_name);
            Ok(Route {
                filter: declared.filter.clone(),
                pattern,
                record: Arc::new(record),
                handler: self.instances.handler(declared.handler, name),
            })
        };
        self.manifest.routes.iter().map(route).collect()
    }

    /// The listeners of its channels, in its order.
    pub(crate) fn listeners(&self) -> Vec<Subscription> {
        let mut subscriptions = Vec::new();
        for channel in &self.manifest.channels {
            for listener in &channel.listeners {
                let name = || format!("{}:{}", channel.name, listener.event);
                subscriptions.push(Subscription {
                    channel: channel.name.clone(),
                    event: listener.event.clone(),
                    module: Some(self.info.name.clone()),
                    listener: self.instances.listener(listener.id, name),
                });
            }
        }
        subscriptions
    }

    /// Ends its calls in flight.
    pub(crate) fn cut(&self) {
        self.instances.pre.cut.cancel();
    }

    /// Frees every instance that is idle or becomes so.
    pub(crate) fn retire(&self) {
        self.instances.pre.retired.store(true, Ordering::Relaxed);
        self.instances.shrink();
    }

    /// Runs once each [`TICK`](crate::scheduling::call_history::TICK): old crashes are forgotten, and instances that were
    /// idle for too long are freed.
    pub(crate) fn tick(&self) {
        self.instances.histories.tick(&self.info.name);
        self.instances.shrink();
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.instances.pre.settings.metrics
    }

    pub(crate) fn usage(&self) -> Usage {
        let idle = self.instances.idle();
        Usage {
            idle: idle.instances,
            held: idle.held,
            ..self.metrics().usage()
        }
    }
}
