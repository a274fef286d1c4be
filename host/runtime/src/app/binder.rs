//! Holds the declared routes, and replays them to adapters.

use std::collections::HashSet;
use std::sync::Arc;

use pointwork_core::adapter::AdapterState;
use pointwork_core::routing::{Conflicts, MethodFilter, Pattern, PatternError};
use pointwork_core::{
    Bus, Context, Executor, Failure, FailureCode, Handler, Origin, RequestDurations, RequestMemory, Route, RouteRecord,
    Router, RouterOptions, Staged, Transport, is_unprintable, one_line,
};

use crate::app::changes::ChangeKind;
use crate::app::module::Module;
use crate::{Error, ErrorKind, OrError};

/// The longest name of a module, in bytes.
const MOST_NAME: usize = 128;

/// The declarations that routes are made from, and the adapters that serve them.
///
/// A change is made on a copy. The copy replaces the original once every adapter has staged the new table, so that a
/// refused change leaves no trace.
#[derive(Clone, Default)]
pub(crate) struct Binder {
    pub(crate) prefix: Option<String>,
    /// In the order registered (spec D9).
    declarations: Vec<Declaration>,
    connections: Vec<Connection>,
    /// The routes that were warned about: adapter, method and path.
    warned: HashSet<(&'static str, String, String)>,
}

/// An adapter, and the path prefixes that modules may claim on it; `None` for all.
#[derive(Clone)]
struct Connection {
    transport: Arc<dyn Transport>,
    claims: Option<Vec<Pattern>>,
}

#[derive(Clone)]
enum Declaration {
    Manual(Route),
    Module {
        module: Arc<Module>,
        registration: Option<Registration>,
    },
    /// A version of a module that could not be restored. Its routes are known, and another module must not answer for it.
    RestoreFailure {
        name: String,
        routes: Vec<(MethodFilter, Pattern)>,
    },
}

/// The registration of a module's routes with its first adapter, which the others follow (spec G2, M4).
#[derive(Clone)]
struct Registration {
    origin: Origin,
    prefix: Option<String>,
}

/// A table that every adapter has staged.
pub(crate) struct StagedTable {
    pub(crate) records: Vec<Arc<RouteRecord>>,
    staged: Vec<Staged>,
}

impl StagedTable {
    pub(crate) fn publish(self) -> Vec<Arc<RouteRecord>> {
        self.staged.into_iter().for_each(Staged::publish);
        self.records
    }
}

pub(crate) struct RouterFactory {
    pub(crate) options: RouterOptions,
    pub(crate) bus: Bus,
    pub(crate) executor: Arc<dyn Executor>,
    /// The durations of requests, over all tables.
    pub(crate) durations: RequestDurations,
    /// The bytes of the requests in flight, over all tables.
    pub(crate) memory: RequestMemory,
    /// Answers requests without an adapter; it counts as none.
    pub(crate) in_process: Arc<AdapterState>,
}

impl RouterFactory {
    pub(crate) fn router(&self, routes: Vec<Route>) -> Result<Router, Conflicts> {
        Router::new(routes, self.options.clone(), self.bus.clone(), self.executor.clone())
    }
}

impl Binder {
    pub(crate) fn add_manual(
        &mut self,
        filter: MethodFilter,
        path: &str,
        handler: Arc<dyn Handler>,
    ) -> Result<(), PatternError> {
        let pattern = Pattern::join(self.prefix.as_deref().unwrap_or_default(), path)?;
        let record = RouteRecord {
            method: filter.to_string(),
            path: pattern.as_str().to_owned(),
            origin: Origin::Manual,
            module: None,
            controller: None,
            handler: None,
            unavailable_on: Vec::new(),
        };
        self.declarations.push(Declaration::Manual(Route {
            filter,
            pattern,
            record: Arc::new(record),
            handler,
        }));
        Ok(())
    }

    pub(crate) fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.declarations.iter().filter_map(Declaration::module)
    }

    pub(crate) fn module(&self, name: &str) -> Option<&Arc<Module>> {
        self.modules().find(|module| module.info.name == name)
    }

    /// The module of that name.
    ///
    /// # Errors
    /// Lists the modules that are loaded.
    pub(crate) fn expect_module(&self, name: &str) -> Result<&Arc<Module>, Error> {
        self.module(name).ok_or_else(|| {
            let loaded: Vec<_> = self.modules().map(|module| format!("`{}`", module.info.name)).collect();
            let loaded = if loaded.is_empty() {
                "none is loaded".to_owned()
            } else {
                format!("loaded: {}", loaded.join(", "))
            };
            Error::new(ErrorKind::Refused, format!("there is no module `{name}`; {loaded}"))
        })
    }

    /// Checks that a new module has a new name, and that any other change has a module.
    pub(crate) fn check_name(&self, kind: ChangeKind, name: &str) -> Result<(), Error> {
        let has_failed = || self.declarations.iter().any(|known| known.has_failed(name));
        if kind == ChangeKind::Removed && has_failed() {
            return Ok(());
        }
        if kind != ChangeKind::Loaded {
            return self.expect_module(name).map(drop);
        }
        check_module_name(name)?;
        match self.module(name) {
            None => Ok(()),
            Some(_) => {
                let message = format!("a module `{name}` is loaded already");
                Err(Error::new(ErrorKind::Refused, message).with_hint("`swap` replaces it"))
            }
        }
    }

    /// Adds a module, or replaces the one of the same name.
    pub(crate) fn put_module(&mut self, module: Arc<Module>) {
        let name = &module.info.name;
        let is_version = |old: &Declaration| old.module().is_some_and(|old| old.info.name == *name);
        let replaced = self.declarations.iter().position(is_version);
        let restore_failures = self.declarations.iter().position(|old| old.has_failed(name));
        // A new version stays under the prefix of the one that it replaces.
        let prefix = match replaced.map(|at| &self.declarations[at]) {
            Some(Declaration::Module {
                registration: Some(old),
                ..
            }) => old.prefix.clone(),
            _ => self.prefix.clone(),
        };
        let origin = Origin::Decorator;
        let registration = Registration { origin, prefix };
        let declaration = Declaration::Module {
            module,
            registration: (!self.connections.is_empty()).then_some(registration),
        };
        match replaced {
            Some(at) => self.declarations[at] = declaration,
            None => self
                .declarations
                .insert(restore_failures.unwrap_or(self.declarations.len()), declaration),
        }
    }

    /// Adds the routes of a version that could not be restored. Those that another version of the module has are its.
    pub(crate) fn put_unrestored(&mut self, name: &str, routes: Vec<(MethodFilter, Pattern)>) {
        let name = name.to_owned();
        self.declarations.push(Declaration::RestoreFailure { name, routes });
    }

    /// Removes the routes that only a version that could not be restored has.
    pub(crate) fn forget_unrestored(&mut self, name: &str) {
        self.declarations.retain(|declaration| !declaration.has_failed(name));
    }

    pub(crate) fn remove_module(&mut self, name: &str) {
        self.declarations.retain(|declaration| !declaration.is_of(name));
    }

    /// Adds an adapter, to which all declarations are replayed. Removes and returns the modules that claim other paths than
    /// they may there.
    pub(crate) fn attach(
        &mut self,
        transport: Arc<dyn Transport>,
        claims: Option<Vec<Pattern>>,
    ) -> Vec<(Arc<Module>, Error)> {
        let connection = Connection { transport, claims };
        let mut held_back = Vec::new();
        self.declarations.retain_mut(|declaration| {
            let Declaration::Module { module, registration } = declaration else {
                return true;
            };
            if let Err(error) = connection.check_claims(module) {
                held_back.push((module.clone(), error));
                return false;
            }
            registration.get_or_insert_with(|| Registration {
                origin: Origin::Replay,
                prefix: self.prefix.clone(),
            });
            true
        });
        self.connections.push(connection);
        held_back
    }

    pub(crate) fn transports(&self) -> impl Iterator<Item = &Arc<dyn Transport>> {
        self.connections.iter().map(|connection| &connection.transport)
    }

    /// Compiles the table, and stages it on every adapter.
    pub(crate) fn stage(&mut self, routers: &RouterFactory) -> Result<StagedTable, Error> {
        let mut routes = Vec::new();
        for (module, connection) in self
            .modules()
            .flat_map(|module| self.connections.iter().map(move |c| (module, c)))
        {
            connection.check_claims(module)?;
        }
        for declaration in &self.declarations {
            routes.extend(self.routes_of(declaration)?);
        }
        for route in &mut routes {
            self.mark_unavailable(route);
        }
        let records = routes.iter().map(|route| route.record.clone()).collect();
        let router = routers
            .router(routes)
            .or_error(ErrorKind::Refused, "routes are in conflict")?
            .measured(&routers.durations)
            .counting(&routers.memory);
        let stage = |transport: &Arc<dyn Transport>| {
            let name = transport.name();
            let staged = transport.stage(Arc::new(router.for_adapter(name)));
            staged.or_error(ErrorKind::Refused, format!("adapter `{name}` refuses the table"))
        };
        let mut staged = self.transports().map(stage).collect::<Result<Vec<_>, _>>()?;
        staged.push(routers.in_process.stage(&router, ()));
        Ok(StagedTable { records, staged })
    }

    fn routes_of(&self, declaration: &Declaration) -> Result<Vec<Route>, Error> {
        let current_prefix = self.prefix.as_deref();
        match declaration {
            Declaration::Manual(route) => Ok(vec![route.clone()]),
            Declaration::RestoreFailure { name, routes } => {
                let key =
                    |filter: &MethodFilter, pattern: &Pattern| (filter.to_string(), pattern.canonical().to_owned());
                let serving = self
                    .module(name)
                    .into_iter()
                    .flat_map(|module| module.declared_routes());
                let answered: HashSet<_> = serving.map(|route| key(&route.filter, &route.pattern)).collect();
                let lost = routes
                    .iter()
                    .filter(|(filter, pattern)| !answered.contains(&key(filter, pattern)));
                lost.map(|(filter, pattern)| unavailable(name, filter, pattern, current_prefix.unwrap_or_default()))
                    .collect()
            }
            Declaration::Module { module, registration } => {
                let (origin, prefix) = match registration {
                    Some(registration) => (registration.origin, registration.prefix.as_deref()),
                    None => (Origin::Decorator, current_prefix),
                };
                module.routes(prefix.unwrap_or_default(), origin)
            }
        }
    }

    /// The record, with the adapters that were mounted elsewhere since the table was staged.
    pub(crate) fn with_unreached(&self, record: &RouteRecord) -> RouteRecord {
        let mut record = record.clone();
        let pattern = Pattern::parse(&record.path).ok();
        for transport in self.transports() {
            let is_known = record.unavailable_on.iter().any(|known| known == transport.name());
            if !is_known && pattern.as_ref().is_some_and(|pattern| !transport.covers_path(pattern)) {
                record.unavailable_on.push(transport.name().to_owned());
            }
        }
        record
    }

    /// Marks a route with the adapters that cannot serve it, and warns about each once (spec A3, A10).
    fn mark_unavailable(&mut self, route: &mut Route) {
        for connection in &self.connections {
            let (transport, adapter) = (&connection.transport, connection.transport.name());
            let reason = if !transport.supports_method(&route.filter) {
                "does not know the method"
            } else if !transport.covers_path(&route.pattern) {
                "is mounted elsewhere"
            } else {
                continue;
            };
            let record = Arc::make_mut(&mut route.record);
            record.unavailable_on.push(adapter.to_owned());
            let warned = (adapter, record.method.clone(), record.path.clone());
            if self.warned.insert(warned) {
                tracing::warn!(
                    adapter,
                    "route {} {} is not available: `{adapter}` {reason}",
                    record.method,
                    record.path
                );
            }
        }
    }
}

/// Checks that a text can be the name of a module: that it can be read in a line of the log and in a table.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) with the rule.
pub fn check_module_name(name: &str) -> Result<(), Error> {
    if name.trim().is_empty() || name.len() > MOST_NAME || name.contains(is_unprintable) {
        let message = format!("`{}` cannot be the name of a module", one_line(name, MOST_NAME));
        let hint = format!("a name has 1 to {MOST_NAME} bytes, all of them printable");
        return Err(Error::new(ErrorKind::Refused, message).with_hint(hint));
    }
    Ok(())
}

impl Connection {
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a route of the module is outside the claims.
    fn check_claims(&self, module: &Module) -> Result<(), Error> {
        let Some(claims) = &self.claims else { return Ok(()) };
        let claimed = |pattern: &Pattern| {
            claims
                .iter()
                .any(|claim| pattern.segments().starts_with(claim.segments()))
        };
        let Some(route) = module.declared_routes().find(|route| !claimed(&route.pattern)) else {
            return Ok(());
        };
        let (adapter, module) = (self.transport.name(), &module.info.name);
        let allowed: Vec<_> = claims.iter().map(|claim| format!("`{claim}`")).collect();
        let allowed = if allowed.is_empty() {
            "no path".to_owned()
        } else {
            format!("a path below {}", allowed.join(", "))
        };
        let message = format!(
            "route {} {} ({}.{}) of module `{module}` claims a path that modules may not claim on adapter `{adapter}`, \
             expected {allowed}",
            route.filter, route.pattern, route.controller, route.handler_name
        );
        Err(Error::new(ErrorKind::Refused, message))
    }
}

impl Declaration {
    fn module(&self) -> Option<&Arc<Module>> {
        match self {
            Self::Module { module, .. } => Some(module),
            Self::Manual(_) | Self::RestoreFailure { .. } => None,
        }
    }

    fn is_of(&self, name: &str) -> bool {
        self.module().is_some_and(|module| module.info.name == name) || self.has_failed(name)
    }

    fn has_failed(&self, name: &str) -> bool {
        matches!(self, Self::RestoreFailure { name: restore_failures, .. } if restore_failures == name)
    }
}

/// A route of a module that could not be restored: it answers 503.
fn unavailable(module: &str, filter: &MethodFilter, pattern: &Pattern, prefix: &str) -> Result<Route, Error> {
    let message = || format!("the routes of module `{module}` cannot be prefixed");
    let pattern = pattern.prefixed(prefix).or_error(ErrorKind::Refused, message())?;
    let record = RouteRecord {
        method: filter.to_string(),
        path: pattern.as_str().to_owned(),
        origin: Origin::Decorator,
        module: Some(module.to_owned()),
        controller: None,
        handler: None,
        unavailable_on: Vec::new(),
    };
    let answer = |_: Context| async { Failure::of(FailureCode::OVERLOADED, "the route is not available") };
    Ok(Route {
        filter: filter.clone(),
        pattern,
        record: Arc::new(record),
        handler: Arc::new(answer),
    })
}
