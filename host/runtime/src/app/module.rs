//! One version of a module: loaded whole, ready to serve.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pointwork_core::routing::{DeclaredRoute, MethodFilter};
use pointwork_core::{BodyMode, Bus, Origin, Route, RouteRecord, Subscription};
use serde::{Deserialize, Serialize};

use crate::app::info::{ChannelInfo, ControllerInfo, pairs};
use crate::call_counts::CallCountsByName;
use crate::component::engine::Engines;
use crate::component::inspect::Form;
use crate::component::link::compile;
use crate::component::lint;
use crate::component::manifest::Manifest;
use crate::instance::handlers::Instances;
use crate::scheduling::admission::Admission;
use crate::scheduling::status::{HeldBack, Usage};
use crate::scheduling::threads::Threads;
use crate::store::KeptRoute;
use crate::{Capability, Error, ErrorKind, ModuleOptions, OrError, RecordedVersions, Variables};

/// A loaded module, as the application lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// The name of its package; `None` if it declares none.
    pub package: Option<String>,
    /// The version of its package.
    pub package_version: Option<String>,
    /// The SDK that it was built with, and its version.
    pub sdk: String,
    /// The language that it is written in.
    pub language: String,
    /// The number of routes that it declares. Each path of a handler is a route.
    pub routes: usize,
    /// The controllers that it declares, in its order.
    pub controllers: Vec<ControllerInfo>,
    /// The channels that it declares, in its order.
    pub channels: Vec<ChannelInfo>,
    /// The names of the events that it may call, emit or hand over to, as far as its SDK knows them.
    pub events_used: Vec<String>,
    /// Its open metadata: names with values, in its order.
    pub metadata: Vec<(String, String)>,
    /// The capabilities that it imports, beyond the contract.
    #[serde(rename = "asks")]
    pub capabilities: Vec<Capability>,
    /// The capabilities that it is granted, one text each; see [`Grants::describe`](crate::Grants::describe).
    pub granted: Vec<String>,
    /// The names of its variables, without their values.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Declarations that are legal but probably mistakes, a sentence each: a method in lower case, a method `ALL`, a body
    /// that is read chunk by chunk without a route that streams. They are logged at load too.
    pub warnings: Vec<String>,
}

impl ModuleInfo {
    /// The names of the events that it listens to, channels first, such as `db:product:all`.
    pub fn listeners(&self) -> Vec<String> {
        let channels = self.channels.iter();
        channels
            .flat_map(|channel| channel.events.iter().map(|event| format!("{}:{event}", channel.name)))
            .collect()
    }
}

/// A component with its SHA-256, in hex.
pub(crate) struct Component {
    pub(crate) bytes: Bytes,
    pub(crate) digest: String,
}

impl Component {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self {
            digest: crate::digest(&bytes),
            bytes: bytes.into(),
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
        component: Component,
        options: ModuleOptions,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
        bus: &Bus,
    ) -> Result<Self, Error> {
        let Component { bytes, digest } = component;
        if let Some(expected) = &options.digest
            && !expected.eq_ignore_ascii_case(&digest)
        {
            let message = format!("the component has the SHA-256 `{digest}`, expected `{expected}`");
            return Err(Error::new(ErrorKind::Refused, message).with_hint("the file may be truncated, or another one"));
        }
        let size = bytes.len();
        let (pre, inspection) = compile(name, bytes, &options, engines, threads, bus.caller()).await?;
        let pre = Arc::new(pre);
        let manifest = Manifest::read(&pre, threads).await?;
        let declared = &manifest.declared;
        pre.version.events_used.list(&declared.events_used);
        if declared.channels.is_empty() {
            inspection.check_no_capability(&options.grants)?;
        }
        manifest.variables.check(&options.variables)?;
        // Each instance opens what it is granted; a directory that is missing is better found now.
        drop(pre.store().or_error(ErrorKind::Probe, "its grants cannot be given")?);
        let mut warnings = lint::warnings(manifest.routes.iter().map(|(route, _)| route));
        let modes = manifest.routes.iter().map(|(_, mode)| *mode);
        warnings.extend(lint::unstreamed(
            inspection.opens_bodies,
            &declared.language,
            modes.clone(),
        ));
        let limits = &pre.version.limits;
        warnings.extend(lint::lone(limits.instances.saturating_mul(limits.in_flight), modes));
        let info = ModuleInfo {
            name: name.to_owned(),
            form: pre.form,
            version: inspection.contract_version().unwrap_or_default().to_owned(),
            digest,
            size,
            capabilities: inspection.capabilities(),
            granted: options.grants.describe(),
            variables: options.variables.names().map(str::to_owned).collect(),
            package: declared.name.clone(),
            package_version: declared.version.clone(),
            sdk: declared.sdk.clone(),
            language: declared.language.clone(),
            routes: manifest.routes.len(),
            controllers: declared.controllers.iter().map(ControllerInfo::from_manifest).collect(),
            channels: declared.channels.iter().map(ChannelInfo::from_manifest).collect(),
            events_used: declared.events_used.clone(),
            metadata: pairs(&declared.metadata),
            warnings,
        };
        Ok(Self {
            info,
            options,
            manifest: Arc::new(manifest),
            instances: Instances::new(pre, threads.clone()),
        })
    }

    /// The same version with these variables, without instances.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a value does not fit.
    pub(crate) fn with_variables(&self, variables: Variables) -> Result<Self, Error> {
        self.manifest.variables.check(&variables)?;
        Ok(self.fresh_with(variables))
    }

    /// The same version without instances, with fresh admission.
    pub(crate) fn fresh(&self) -> Self {
        self.fresh_with(self.options.variables.clone())
    }

    /// The counts of its calls go on.
    fn fresh_with(&self, variables: Variables) -> Self {
        let instances = self.instances.fresh(variables.values().clone());
        instances.histories.begin_counts(self.call_counts());
        Self {
            info: self.info.clone(),
            instances,
            options: self.options.clone().variables(variables),
            manifest: self.manifest.clone(),
        }
    }

    pub(crate) fn declared_routes(&self) -> impl Iterator<Item = &DeclaredRoute> {
        self.manifest.routes.iter().map(|(route, _)| route)
    }

    /// Its routes, for the state directory.
    pub(crate) fn kept_routes(&self) -> Vec<KeptRoute> {
        let kept = |route: &DeclaredRoute| KeptRoute {
            method: (route.filter != MethodFilter::All).then(|| route.filter.to_string()),
            path: route.pattern.as_str().to_owned(),
        };
        self.declared_routes().map(kept).collect()
    }

    /// Its routes under a prefix, in its order.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a route cannot stand under the prefix.
    pub(crate) fn routes(&self, prefix: &str, origin: Origin) -> Result<Vec<Route>, Error> {
        let route = |(declared, body): &(DeclaredRoute, BodyMode)| {
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
            // Without the prefix, which belongs to the application.
            let counted_as = format!("{} {}", declared.filter, declared.pattern.as_str());
            Ok(Route {
                filter: declared.filter.clone(),
                pattern,
                record: Arc::new(record),
                handler: self.instances.handler(declared.handler, *body, counted_as, name),
            })
        };
        self.manifest.routes.iter().map(route).collect()
    }

    /// The listeners of its channels, in its order.
    pub(crate) fn listeners(&self) -> Vec<Subscription> {
        let mut subscriptions = Vec::new();
        for channel in &self.manifest.declared.channels {
            for listener in &channel.listeners {
                let name = format!("{}:{}", channel.name, listener.event);
                subscriptions.push(Subscription {
                    channel: channel.name.clone(),
                    event: listener.event.clone(),
                    module: Some(self.info.name.clone()),
                    listener: self.instances.listener(listener.listener, &name),
                });
            }
        }
        subscriptions
    }

    /// Ends its calls in flight.
    pub(crate) fn cut(&self) {
        self.instances.pre.cut.cancel();
    }

    /// It becomes the current version, which has a share of the engine's pool.
    pub(crate) fn begin(&self) {
        self.instances.pre.tenancy.set_current(true);
    }

    /// Another version takes its place: frees every instance that is idle or becomes so.
    pub(crate) fn retire(&self) {
        self.instances.pre.tenancy.set_current(false);
        self.instances.pre.retired.store(true, Ordering::Relaxed);
        self.instances.shrink();
    }

    /// Runs once each [`TICK`](crate::scheduling::call_history::TICK): old crashes are forgotten, and instances that were
    /// idle for too long are freed.
    pub(crate) fn tick(&self) {
        self.admission()
            .hold_back(self.instances.histories.tick(&self.info.name));
        self.instances.shrink();
    }

    /// The current time of the application's clock.
    pub(crate) fn now(&self) -> Instant {
        self.instances.pre.version.clock.now()
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.instances.pre.version.admission
    }

    /// Begins to count ended calls, from those of the current version in its record. Calls of its health check do not count.
    pub(crate) fn begin_counts(&self, recorded: Option<&RecordedVersions>) {
        let earlier = recorded.map(|recorded| recorded.calls.clone());
        self.continue_counts(earlier.unwrap_or_default());
    }

    /// Continues counts of an earlier time in which the version was current.
    pub(crate) fn continue_counts(&self, earlier: CallCountsByName) {
        self.admission().begin_counts();
        self.instances.histories.begin_counts(earlier);
    }

    /// Begins the trial of the version, which replaces that one.
    pub(crate) fn begin_trial(&self, before: &Self) {
        self.admission().begin_trial(before.call_counts(), Duration::ZERO);
    }

    /// Continues the trial that a record of the version has.
    pub(crate) fn resume_trial(&self, recorded: Option<RecordedVersions>) {
        if let Some(recorded) = recorded
            && let Some(elapsed) = recorded.time_on_trial()
        {
            self.admission().begin_trial(recorded.previous_calls, elapsed);
        }
    }

    /// The ended calls of each route and listener, and the created instances, since the version became current first.
    pub(crate) fn call_counts(&self) -> CallCountsByName {
        let mut counts = self.instances.histories.counts();
        self.admission().count_instances(&mut counts);
        counts
    }

    pub(crate) fn held_back(&self) -> Vec<HeldBack> {
        self.instances.histories.held_back()
    }

    pub(crate) fn usage(&self) -> Usage {
        let idle = self.instances.idle();
        Usage {
            idle: idle.instances,
            held: idle.held,
            host_memory: self.instances.pre.version.memory.used(),
            ..self.admission().usage()
        }
    }
}
