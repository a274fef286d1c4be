//! Holds the declared routes and replays them to adapters.

use std::collections::HashSet;
use std::sync::Arc;

use pointwork_core::routing::{MethodFilter, Pattern, PatternError};
use pointwork_core::{Bus, Executor, Handler, Origin, Route, RouteRecord, Router, RouterOptions, Staged, Transport};

use crate::app::module::Module;
use crate::{Error, ErrorKind};

/// Everything that routes are made from. A change is made on a copy, and the copy takes its place when every adapter has
/// staged the table that it leads to: a refused change leaves no trace.
#[derive(Clone, Default)]
pub(crate) struct Binder {
    pub(crate) prefix: Option<String>,
    sources: Vec<Source>,
    transports: Vec<Arc<dyn Transport>>,
    warned: HashSet<(&'static str, String, String)>,
}

/// Where routes come from, in the order registered (spec D9).
#[derive(Clone)]
enum Source {
    Manual {
        filter: MethodFilter,
        pattern: Pattern,
        handler: Arc<dyn Handler>,
    },
    Module {
        module: Arc<Module>,
        registered: Option<Registered>,
    },
}

/// How a module's routes were registered with an adapter; the first one fixes it (spec G2, M4).
#[derive(Clone)]
struct Registered {
    origin: Origin,
    prefix: Option<String>,
}

/// A table that every adapter has staged.
pub(crate) struct Table {
    pub(crate) records: Vec<Arc<RouteRecord>>,
    staged: Vec<Staged>,
}

impl Table {
    /// Makes the table visible on every adapter.
    pub(crate) fn publish(self) -> Vec<Arc<RouteRecord>> {
        self.staged.into_iter().for_each(Staged::publish);
        self.records
    }
}

/// What the binder builds routers with.
pub(crate) struct Means {
    pub(crate) options: RouterOptions,
    pub(crate) bus: Bus,
    pub(crate) executor: Arc<dyn Executor>,
}

impl Binder {
    pub(crate) fn add_manual(
        &mut self,
        filter: MethodFilter,
        path: &str,
        handler: Arc<dyn Handler>,
    ) -> Result<(), PatternError> {
        let pattern = Pattern::join(self.prefix.as_deref().unwrap_or_default(), path)?;
        self.sources.push(Source::Manual {
            filter,
            pattern,
            handler,
        });
        Ok(())
    }

    pub(crate) fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.sources.iter().filter_map(|source| match source {
            Source::Module { module, .. } => Some(module),
            Source::Manual { .. } => None,
        })
    }

    pub(crate) fn module(&self, name: &str) -> Option<&Arc<Module>> {
        self.modules().find(|module| module.info.name == name)
    }

    /// Adds a module, or puts it in the place of the one of the same name.
    pub(crate) fn put_module(&mut self, module: Arc<Module>) {
        let attached = !self.transports.is_empty();
        let registered = attached.then(|| Registered {
            origin: Origin::Decorator,
            prefix: self.prefix.clone(),
        });
        let name = &module.info.name;
        let place = self.sources.iter().position(|source| source.is_module(name));
        match place {
            Some(place) => {
                // A newer version of a module stays under the prefix of the one it replaces.
                let prefix = self.sources[place].prefix().unwrap_or(self.prefix.clone());
                let registered = registered.map(|registered| Registered { prefix, ..registered });
                self.sources[place] = Source::Module { module, registered };
            }
            None => self.sources.push(Source::Module { module, registered }),
        }
    }

    /// Takes a module out.
    pub(crate) fn remove_module(&mut self, name: &str) {
        self.sources.retain(|source| !source.is_module(name));
    }

    /// Adds an adapter and replays what was declared so far to it. Tells whether there was anything to replay.
    pub(crate) fn attach(&mut self, transport: Arc<dyn Transport>) -> bool {
        self.transports.push(transport);
        let mut declared = false;
        for source in &mut self.sources {
            if let Source::Module { module, registered } = source {
                declared |= module.declares_routes();
                registered.get_or_insert_with(|| Registered {
                    origin: Origin::Replay,
                    prefix: self.prefix.clone(),
                });
            }
        }
        declared
    }

    /// Compiles the table and has every adapter stage it.
    pub(crate) fn stage(&mut self, means: &Means) -> Result<Table, Error> {
        let mut routes = Vec::new();
        for source in &self.sources {
            source.routes(self.prefix.as_deref(), &mut routes)?;
        }
        for route in &mut routes {
            self.note_availability(route);
        }
        let records = routes.iter().map(|route| route.record.clone()).collect();
        let router = Router::new(routes, means.options.clone(), means.bus.clone(), means.executor.clone())
            .map_err(|conflicts| Error::new(ErrorKind::Refused, "routes are in conflict").with_source(conflicts))?;
        let stage = |transport: &Arc<dyn Transport>| {
            let name = transport.name();
            transport.stage(Arc::new(router.for_adapter(name))).map_err(|error| {
                Error::new(ErrorKind::Refused, format!("adapter `{name}` refuses the table")).with_source(error)
            })
        };
        let staged = self.transports.iter().map(stage).collect::<Result<_, _>>()?;
        Ok(Table { records, staged })
    }

    /// Marks a route that an adapter cannot serve, and warns of it once (spec A3).
    fn note_availability(&mut self, route: &mut Route) {
        for transport in &self.transports {
            if transport.serves(&route.filter) {
                continue;
            }
            let record = Arc::make_mut(&mut route.record);
            let adapter = transport.name();
            record.unavailable_on.push(adapter.to_owned());
            if self
                .warned
                .insert((adapter, record.method.clone(), record.path.clone()))
            {
                tracing::warn!(
                    adapter,
                    "route {} {} is not available: `{adapter}` does not know the method",
                    record.method,
                    record.path
                );
            }
        }
    }
}

impl Source {
    fn is_module(&self, name: &str) -> bool {
        matches!(self, Self::Module { module, .. } if module.info.name == name)
    }

    fn prefix(&self) -> Option<Option<String>> {
        match self {
            Self::Module {
                registered: Some(registered),
                ..
            } => Some(registered.prefix.clone()),
            _ => None,
        }
    }

    fn routes(&self, current_prefix: Option<&str>, routes: &mut Vec<Route>) -> Result<(), Error> {
        match self {
            Self::Manual {
                filter,
                pattern,
                handler,
            } => {
                let record = RouteRecord {
                    method: filter.to_string(),
                    path: pattern.as_str().to_owned(),
                    origin: Origin::Manual,
                    module: None,
                    controller: None,
                    handler: None,
                    unavailable_on: Vec::new(),
                };
                routes.push(Route {
                    filter: filter.clone(),
                    pattern: pattern.clone(),
                    record: Arc::new(record),
                    handler: handler.clone(),
                });
            }
            Self::Module { module, registered } => {
                let (origin, prefix) = match registered {
                    Some(registered) => (registered.origin, registered.prefix.as_deref()),
                    None => (Origin::Decorator, current_prefix),
                };
                routes.extend(module.routes(prefix.unwrap_or_default(), origin)?);
            }
        }
        Ok(())
    }
}
