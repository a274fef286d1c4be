//! How versions of modules come, follow each other and go.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{Method, Request, StatusCode};
use pointwork_core::{Body, Origin, RouteRecord, Router};
use tokio::time::timeout;

use super::{App, State, expect_module};
use crate::app::binder::Binder;
use crate::app::changes::{Change, ChangeKind, Refusal, RouteChanges, ServerRefused, ServerSwapped};
use crate::app::module::{Module, ModuleInfo};
use crate::app::options::ModuleOptions;
use crate::app::status::{Draining, ModuleStatus};
use crate::scheduling::call_history::TICK;
use crate::store::{Kept, Version};
use crate::{Error, ErrorKind, digest};

/// The versions of one module that are not current.
#[derive(Default)]
pub(super) struct History {
    /// What a roll-back leads to. It has no instances.
    previous: Option<Arc<Module>>,
    draining: Vec<Drain>,
    /// When the current version became so, in milliseconds since 1970-01-01 UTC.
    since: u64,
}

/// A version that was current once.
struct Drain {
    module: Arc<Module>,
    /// When its calls are ended; `None` once they were.
    until: Option<Instant>,
    shown: u64,
}

/// What becomes current, and how that is told and kept.
pub(super) struct Proposal {
    pub(super) kind: ChangeKind,
    pub(super) name: String,
    /// `None` takes the module out.
    pub(super) module: Option<Arc<Module>>,
    /// What the state directory says of where the application began; `None` leaves it as it is.
    pub(super) base: Option<String>,
    /// The version before, if the state directory knows one from before the start.
    pub(super) earlier: Option<String>,
    /// Only if this is current still.
    pub(super) over: Option<Arc<Module>>,
    pub(super) reason: Option<String>,
    /// Keeps the component in the state directory until that names it.
    kept: Option<Kept>,
}

impl Proposal {
    pub(super) fn new(kind: ChangeKind, name: &str, module: Option<Arc<Module>>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            module,
            base: None,
            earlier: None,
            over: None,
            reason: None,
            kept: None,
        }
    }

    /// Whether the module's name is fit for what is to be done.
    pub(super) fn fits(kind: ChangeKind, name: &str, binder: &Binder) -> Result<(), Error> {
        match (kind, binder.module(name)) {
            (ChangeKind::Loaded, Some(_)) => {
                let message = format!("a module `{name}` is loaded already");
                Err(Error::new(ErrorKind::Refused, message).with_hint("`App::swap` replaces it"))
            }
            (ChangeKind::Loaded, None) => Ok(()),
            _ => expect_module(binder, name).map(drop),
        }
    }
}

impl App {
    /// Loads a component and publishes it, if the name is still fit for that after the work. Tells of a refusal.
    pub(super) async fn install(
        &self,
        proposal: Proposal,
        bytes: Vec<u8>,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        let bytes: Arc<[u8]> = bytes.into();
        let (name, kind) = (proposal.name.clone(), proposal.kind);
        let result = self.try_install(proposal, bytes.clone(), options).await;
        if let Err(error) = &result {
            self.tell_refused(kind, &name, Some(digest(&bytes)), error);
        }
        let (info, change) = result?;
        for warning in &info.warnings {
            tracing::warn!(module = name, "{warning}");
        }
        Ok((info, change))
    }

    async fn try_install(
        &self,
        mut proposal: Proposal,
        bytes: Arc<[u8]>,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        let name = proposal.name.clone();
        Proposal::fits(proposal.kind, &name, &self.state().binder)?;
        let refused = |error: Error| error.in_module(&name);
        let module = Arc::new(self.build(&name, bytes.clone(), options).await.map_err(refused)?);
        let info = module.info.clone();
        proposal.module = Some(module);
        if let Some(state) = &self.0.engines.options().state {
            let (state, digest) = (state.clone(), info.digest.clone());
            let keeping = self.blocking(move || state.keep(&digest, &bytes));
            proposal.kept = Some(keeping.await.map_err(refused)?);
        }
        let change = self.publish(proposal).await.map_err(refused)?;
        Ok((info, change))
    }

    /// Checks, compiles and probes a component.
    async fn build(&self, name: &str, bytes: Arc<[u8]>, options: ModuleOptions) -> Result<Module, Error> {
        let inner = &self.0;
        let module = Module::load(name, bytes, options, &inner.engines, &inner.threads, &inner.means.bus).await?;
        if let Some(path) = &module.options.health {
            self.ask_health(&module, path).await?;
        }
        Ok(module)
    }

    /// Asks a module that serves nobody yet whether it is well.
    async fn ask_health(&self, module: &Module, path: &str) -> Result<(), Error> {
        let failed = |message: String| Error::new(ErrorKind::Probe, message);
        let means = &self.0.means;
        let routes = module.routes("", Origin::Decorator)?;
        let router = Router::new(routes, means.options.clone(), means.bus.clone(), means.executor.clone())
            .map_err(|conflicts| Error::new(ErrorKind::Refused, "its routes are in conflict").with_source(conflicts))?;
        let request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header(http::header::HOST, "localhost")
            .body(Body::empty())
            .map_err(|error| {
                let message = format!("`{path}` is no path to ask for its health: expected one such as `/health`");
                Error::new(ErrorKind::Refused, message).with_source(error)
            })?;
        let limits = module.options.limits.as_ref();
        let limit = limits.map_or(self.0.engines.limits().probe, |limits| limits.probe);
        let asking = async move { timeout(limit, router.respond(None, request)).await };
        let status = match self.0.threads.spawn_guest(asking).await {
            Ok(Ok(reply)) => reply.status(),
            Ok(Err(_)) => {
                return Err(failed(format!(
                    "its health route `GET {path}` took longer than {limit:?}"
                )));
            }
            Err(panic) => return Err(failed("asking for its health panicked".to_owned()).with_source(panic)),
        };
        if status.is_client_error() || status.is_server_error() {
            let hint = (status == StatusCode::NOT_FOUND).then_some("the path is that of a route of the module itself");
            let error = failed(format!(
                "its health route `GET {path}` answers {status}, expected less than 400"
            ));
            return Err(hint.into_iter().fold(error, Error::with_hint));
        }
        Ok(())
    }

    /// Makes a version current, or takes the module out: on every adapter, on the bus, and in the state directory, whole
    /// or not at all.
    pub(super) async fn publish(&self, proposal: Proposal) -> Result<Change, Error> {
        let app = self.clone();
        self.blocking(move || app.publish_now(proposal)).await
    }

    fn publish_now(&self, proposal: Proposal) -> Result<Change, Error> {
        let mut state = self.state();
        let Proposal {
            kind,
            name,
            module,
            base,
            earlier,
            over,
            reason,
            kept: _kept,
        } = proposal;
        Proposal::fits(kind, &name, &state.binder)?;
        let current = state.binder.module(&name).cloned();
        if over.is_some_and(|over| current.as_ref().is_none_or(|current| !Arc::ptr_eq(&over, current))) {
            let message = format!("the version of module `{name}` is another one by now");
            return Err(Error::new(ErrorKind::Refused, message));
        }
        let mut binder = state.binder.clone();
        let listeners = match &module {
            Some(module) => {
                binder.put_module(module.clone());
                module.listeners()
            }
            None => {
                binder.remove_module(&name);
                Vec::new()
            }
        };
        let listeners = self.stage_listeners(&name, listeners)?;
        let table = binder.stage(&self.0.means)?;
        let digest_of = |module: &Option<Arc<Module>>| module.as_ref().map(|module| module.info.digest.clone());
        // A version that did not stand its trial is not worth another one.
        let previous = current.clone().filter(|_| module.is_some() && reason.is_none());
        if let Some(directory) = &self.0.engines.options().state {
            let mut version = directory.version(&name).unwrap_or_default();
            version.current = digest_of(&module);
            version.previous = digest_of(&previous).or(earlier);
            version.base = base.or(version.base);
            directory.commit(&name, version)?;
        }
        let change = Change {
            kind,
            digest: digest_of(&module),
            previous: digest_of(&current),
            routes: RouteChanges::between(of_module(&state.records, &name), of_module(&table.records, &name)),
            module: name.clone(),
            reason,
            time: millis(SystemTime::now()),
        };
        // Listeners first: a route that is new may call an event that is.
        listeners.publish();
        state.binder = binder;
        state.records = table.publish();
        let history = state.histories.entry(name).or_default();
        history.since = change.time;
        history.previous = previous.map(|module| Arc::new(module.anew()));
        if let Some(current) = &current {
            history.draining.push(Drain::new(current.clone()));
        }
        if kind == ChangeKind::Swapped
            && let Some(module) = &module
        {
            self.put_on_trial(module);
        }
        tell(&change, module.as_deref());
        self.0.means.bus.announce::<ServerSwapped>(&change);
        drop(state);
        // Freeing instances takes its time; nobody has to wait for it.
        if let Some(current) = current {
            current.retire();
        }
        Ok(change)
    }

    /// Takes a version back by itself if it crashes too often at first.
    fn put_on_trial(&self, module: &Arc<Module>) {
        let (inner, version) = (Arc::downgrade(&self.0), Arc::downgrade(module));
        module.metrics().on_trial(Box::new(move |reason| {
            let (Some(inner), Some(version)) = (inner.upgrade(), version.upgrade()) else {
                return;
            };
            let threads = inner.threads.clone();
            threads.spawn_work(async move {
                let app = App(inner);
                let name = version.info.name.clone();
                tracing::error!(
                    module = name,
                    digest = version.info.digest,
                    "the version is taken back: {reason}"
                );
                let taken_back = app.revert(&name, Some(version), Some(reason)).await;
                if let Err(error) = taken_back {
                    tracing::error!(module = name, "the version could not be taken back: {}", chain(&error));
                }
            });
        }));
    }

    /// Publishes the version before; only if `over` is current, if that is given.
    pub(super) async fn revert(
        &self,
        name: &str,
        over: Option<Arc<Module>>,
        reason: Option<String>,
    ) -> Result<Change, Error> {
        let result = self.try_revert(name, over, reason).await;
        if let Err(error) = &result {
            self.tell_refused(ChangeKind::RolledBack, name, None, error);
        }
        result
    }

    async fn try_revert(&self, name: &str, over: Option<Arc<Module>>, reason: Option<String>) -> Result<Change, Error> {
        let (options, previous) = {
            let state = self.state();
            let current = expect_module(&state.binder, name)?;
            let history = state.histories.get(name);
            (
                current.options.clone(),
                history.and_then(|history| history.previous.clone()),
            )
        };
        let module = match previous {
            Some(previous) => previous,
            None => self.earlier(name, options).await?,
        };
        let mut proposal = Proposal::new(ChangeKind::RolledBack, name, Some(module));
        proposal.over = over;
        proposal.reason = reason;
        self.publish(proposal).await
    }

    /// The version before from the state directory, which outlived the process that it was current in.
    async fn earlier(&self, name: &str, options: ModuleOptions) -> Result<Arc<Module>, Error> {
        let state = self.0.engines.options().state.clone();
        let earlier = state.and_then(|state| {
            let digest = state.version(name)?.previous?;
            Some((state, digest))
        });
        let Some((state, digest)) = earlier else {
            let message = format!("module `{name}` has no version before, which a roll-back could lead to");
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let refused = |error: Error| error.in_module(name);
        let options = options.digest(digest.clone());
        let bytes = self.blocking(move || state.component(&digest)).await.map_err(refused)?;
        let module = self.build(name, bytes.into(), options).await.map_err(refused)?;
        Ok(Arc::new(module))
    }

    /// What a module begins with: see [`App::restore_with`].
    pub(super) async fn restore(
        &self,
        name: &str,
        component: Option<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<Option<ModuleInfo>, Error> {
        let Some(directory) = self.0.engines.options().state.clone() else {
            return match component {
                Some(component) => self.load_with(name, component, options).await.map(Some),
                None => Ok(None),
            };
        };
        let base = component.as_deref().map(digest);
        let known = directory.version(name);
        let mut proposal = Proposal::new(ChangeKind::Loaded, name, None);
        let (bytes, options) = match (component, known) {
            (None, None) => return Ok(None),
            (Some(component), Some(known)) if known.base.is_some() && known.base != base => {
                tracing::info!(
                    module = name,
                    "the component is another than before: it takes the place of what was current"
                );
                proposal.base = base;
                (component, options)
            }
            (Some(component), None) => {
                proposal.base = base;
                (component, options)
            }
            (component, Some(Version { current, previous, .. })) => {
                let Some(current) = current else {
                    tracing::info!(module = name, "the module was removed, and stays so");
                    return Ok(None);
                };
                proposal.earlier = previous;
                proposal.base = base.clone();
                match component {
                    Some(component) if base.as_ref() == Some(&current) => (component, options),
                    _ => {
                        let digest = current.clone();
                        let component = self.blocking(move || directory.component(&digest)).await;
                        (
                            component.map_err(|error| error.in_module(name))?,
                            options.digest(current),
                        )
                    }
                }
            }
        };
        self.install(proposal, bytes, options).await.map(|(info, _)| Some(info))
    }

    /// How every module is at this moment.
    pub(super) fn look(&self) -> Vec<ModuleStatus> {
        let state = self.state();
        let directory = self.0.engines.options().state.as_ref();
        let status = |module: &Arc<Module>| {
            let info = module.info.clone();
            let history = state.histories.get(&info.name);
            let previous = history.and_then(|history| history.previous.as_ref());
            let previous = previous.map(|previous| previous.info.digest.clone());
            ModuleStatus {
                state: module.metrics().state(),
                since: history.map_or(0, |history| history.since),
                previous: previous.or_else(|| directory?.version(&info.name)?.previous),
                usage: module.usage(),
                draining: history
                    .into_iter()
                    .flat_map(|history| &history.draining)
                    .map(Drain::show)
                    .filter(|draining| draining.in_flight > 0)
                    .collect(),
                info,
            }
        };
        state.binder.modules().map(status).collect()
    }

    /// Frees what is of no further use: idle instances, and versions that have drained.
    fn tidy(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let mut modules: Vec<_> = state.binder.modules().cloned().collect();
        let State { binder, histories, .. } = &mut *state;
        histories.retain(|name, history| {
            history.draining.retain_mut(|drain| !drain.is_over(now));
            modules.extend(history.draining.iter().map(|drain| drain.module.clone()));
            !history.draining.is_empty() || binder.module(name).is_some()
        });
        drop(state);
        for module in modules {
            module.tick();
        }
    }

    /// Tidies up for as long as somebody has the application.
    pub(super) fn keep_tidy(&self) {
        let inner = Arc::downgrade(&self.0);
        self.0.threads.spawn_work(async move {
            loop {
                tokio::time::sleep(TICK).await;
                match inner.upgrade() {
                    Some(inner) => App(inner).tidy(),
                    None => break,
                }
            }
        });
    }

    fn tell_refused(&self, kind: ChangeKind, name: &str, digest: Option<String>, error: &Error) {
        let reason = chain(error);
        // Where a module is to be loaded there is somebody who waits for it, and has the error.
        if kind != ChangeKind::Loaded {
            tracing::warn!(module = name, digest, "a change of the module is refused: {reason}");
        }
        let refusal = Refusal {
            module: name.to_owned(),
            digest,
            reason,
            time: millis(SystemTime::now()),
        };
        self.0.means.bus.announce::<ServerRefused>(&refusal);
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.0.threads.spawn_blocking(work).await;
        done.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Engine, "the application's threads have ended").with_source(error))
        })
    }
}

impl Drain {
    fn new(module: Arc<Module>) -> Self {
        let time = module.options.drain;
        Self {
            until: Some(Instant::now() + time),
            shown: millis(SystemTime::now() + time),
            module,
        }
    }

    /// Ends its calls if they had their time; tells whether none is left.
    fn is_over(&mut self, now: Instant) -> bool {
        let in_flight = self.module.metrics().in_flight();
        if in_flight == 0 {
            return true;
        }
        if self.until.is_some_and(|until| until <= now) {
            self.until = None;
            let info = &self.module.info;
            tracing::warn!(
                module = info.name,
                digest = info.digest,
                in_flight,
                "the version had its time to drain; what is left is ended"
            );
            self.module.cut();
        }
        false
    }

    fn show(&self) -> Draining {
        Draining {
            digest: self.module.info.digest.clone(),
            in_flight: self.module.metrics().in_flight(),
            until: self.shown,
        }
    }
}

fn of_module<'a>(records: &'a [Arc<RouteRecord>], module: &'a str) -> impl Iterator<Item = &'a RouteRecord> {
    let records = records.iter().map(|record| &**record);
    records.filter(move |record| record.module.as_deref() == Some(module))
}

fn tell(change: &Change, module: Option<&Module>) {
    let info = module.map(|module| &module.info);
    tracing::info!(
        module = change.module,
        form = info.map(|info| tracing::field::display(info.form)),
        routes = info.map(|info| info.routes),
        channels = info.map(|info| info.channels.len()),
        bytes = info.map(|info| info.size),
        digest = change.digest,
        previous = change.previous,
        added = change.routes.added.len(),
        removed = change.routes.removed.len(),
        "module {}",
        change.kind
    );
}

/// An error with its causes, in one line.
fn chain(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
