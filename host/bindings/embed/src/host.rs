//! An application within a program of another language, with the threads that it needs.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use parking_lot::Mutex;
use pointwork::{App, AppOptions, Body, Context, Failure, ModuleOptions};
use pointwork_config::{Channels, Config};
use pointwork_core::adapter::Place;
use pointwork_core::panic_message;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::body::{Chunks, Source, body_of};
use crate::close::Ending;
use crate::error::{Error, ErrorKind};
use crate::mount::Mount;
use crate::nesting::{at_this_depth, deeper, nested, refuse_at_the_end_of_a_thread};
use crate::request::{Done, Ended, Progress, Requests};
use crate::server::{Server, ServerOptions};
use crate::threads::Threads;
use crate::waiting::{Waiting, wait};
use crate::{AnswerCell, ChannelFunction, RouteFunction, RouteOptions, fork};

/// An application with the threads that it needs: the core of every binding.
///
/// All of its functions may be called from any thread, and from within functions of the host's language. Cheap to
/// clone; all clones are one application. When the last one is dropped without [`close`](Self::close), what is in
/// flight is cut.
#[derive(Clone, Debug)]
pub struct Host(pub(crate) Arc<Inner>);

#[derive(derive_more::Debug)]
#[debug("Inner({app:?})")]
pub(crate) struct Inner {
    pub(crate) app: App,
    pub(crate) threads: Handle,
    pub(crate) runtime: Mutex<Option<Runtime>>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) servers: Mutex<Vec<Server>>,
    pub(crate) is_closing: AtomicBool,
    pub(crate) closed: watch::Sender<bool>,
    /// Whether bodies end that wait for a chunk.
    pub(crate) cut: watch::Sender<bool>,
    #[debug(skip)]
    pub(crate) ending: Ending,
    /// The settings that it was made with.
    config: Config,
    /// The process that it runs in.
    process: u32,
}

/// An application that may have ended; see [`Host::downgrade`].
#[derive(Clone, Debug)]
pub struct WeakHost(Weak<Inner>);

impl WeakHost {
    /// The application, if anybody holds it.
    pub fn upgrade(&self) -> Option<Host> {
        self.0.upgrade().map(Host)
    }
}

/// Figures of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of registered routes.
    pub routes: usize,
    /// The number of requests without their whole reply so far.
    pub requests_in_flight: usize,
    /// The number of emitted events that nobody got, since the start: without a listener, or with a full queue.
    pub events_refused: u64,
}

impl Host {
    /// An application with the settings of a JSON object, which has the keys of `pointwork.toml`: `{"limits":
    /// {"memory": "64MiB"}}`; `{}` for the defaults. Compiled components are kept in the directory of the user's
    /// caches, unless `cache` says otherwise.
    ///
    /// # Errors
    /// [`Settings`](ErrorKind::Settings) names the key; [`Host`](ErrorKind::Host) if a directory cannot be used;
    /// [`Engine`](ErrorKind::Engine) if the threads do not start.
    pub fn of_settings(settings: &str, threads: &Threads) -> Result<Self, Error> {
        let config = Config::from_json(settings)?;
        let mut options = config.app_options();
        options.cache = config.open_cache()?;
        options.state = config.open_state()?;
        let channels = Channels::open(&config)?;
        let prefix = config.prefix.clone();
        let host = Self::with_config(config, options, threads)?;
        if let Some(prefix) = prefix {
            host.0.app.set_global_prefix(prefix.as_str())?;
        }
        channels.bind(&host.0.app, &host.0.threads)?;
        Ok(host)
    }

    /// An application with these options.
    ///
    /// # Errors
    /// [`Engine`](ErrorKind::Engine) if the threads do not start; [`Forked`](ErrorKind::Forked) if an application was
    /// started before this process was forked.
    pub fn start(options: AppOptions, threads: &Threads) -> Result<Self, Error> {
        Self::with_config(Config::default(), options, threads)
    }

    fn with_config(config: Config, options: AppOptions, threads: &Threads) -> Result<Self, Error> {
        fork::watch();
        refuse_at_the_end_of_a_thread()?;
        if fork::happened() {
            // The locks of the child know of threads that are gone: their places are memory of other threads.
            let message = "this process was forked from one that had started an application, expected the first application behind \
                           the fork";
            return Err(Error::new(ErrorKind::Forked, message));
        }
        // Tokio panics where the operating system has no thread left.
        let started = catch_unwind(AssertUnwindSafe(|| {
            let runtime = threads.start()?;
            Ok::<_, Error>((App::with_options(options)?, runtime))
        }));
        let (app, runtime) = started.unwrap_or_else(|panic| {
            let message = format!("the application's threads do not start: {}", panic_message(&*panic));
            Err(Error::new(ErrorKind::Engine, message))
        })?;
        let threads = runtime.handle().clone();
        Ok(Self(Arc::new(Inner {
            app,
            requests: Requests::new(&threads),
            threads,
            runtime: Mutex::new(Some(runtime)),
            servers: Mutex::default(),
            is_closing: AtomicBool::new(false),
            closed: watch::Sender::new(false),
            cut: watch::Sender::new(false),
            ending: Ending::default(),
            config,
            process: process::id(),
        })))
    }

    /// The application.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked): a child of a fork has none of the application's threads. [`Refused`](ErrorKind::Refused) to
    /// the function that writes the log.
    pub fn app(&self) -> Result<&App, Error> {
        crate::log::refuse_in_writer()?;
        if fork::happened() && process::id() != self.0.process {
            return Err(Error::new(ErrorKind::Forked, fork::MESSAGE));
        }
        Ok(&self.0.app)
    }

    /// The options of a module from a JSON object, which has the keys of `[[module]]` in `pointwork.toml`: `{"memory":
    /// "16MiB", "grant": {"clocks": true}}`. The application's settings hold for the rest. It blocks: a directory that
    /// is granted may be made.
    ///
    /// # Errors
    /// [`Settings`](ErrorKind::Settings) names the key; [`Host`](ErrorKind::Host) if a variable or a directory is
    /// missing.
    pub fn module_options(&self, name: &str, settings: &str) -> Result<ModuleOptions, Error> {
        Ok(self.0.config.module_from_json(name, settings)?)
    }

    /// The options of the built-in server, as the application's settings have them.
    pub fn server_options(&self) -> ServerOptions {
        self.0.config.server_options()
    }

    /// The routes as a JSON array, in the order of registration.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked).
    pub fn routes_json(&self) -> Result<String, Error> {
        Ok(json(&self.app()?.routes()))
    }

    /// The modules as a JSON array, in the order loaded: each as [`pointwork::ModuleStatus`] describes it.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked).
    pub fn modules_json(&self) -> Result<String, Error> {
        Ok(json(&self.app()?.statuses()))
    }

    /// The figures of the application.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked).
    pub fn figures(&self) -> Result<Figures, Error> {
        let app = self.app()?;
        Ok(Figures {
            routes: app.settings().route_count,
            requests_in_flight: app.requests_in_flight(),
            events_refused: app.bus().refused(),
        })
    }

    pub(crate) fn threads(&self) -> &Handle {
        &self.0.threads
    }

    pub(crate) fn requests(&self) -> &Arc<Requests> {
        &self.0.requests
    }

    /// Runs an operation of the application on its threads: loading a module, closing. `done` gets the result exactly
    /// once; it is called where no guest is on the stack.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked); [`Nested`](ErrorKind::Nested). `done` gets [`Closed`](ErrorKind::Closed) if the
    /// application ends before the operation.
    pub fn run<T: Send + 'static>(
        &self,
        operation: impl Future<Output = Result<T, Error>> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        self.app()?;
        deeper()?;
        let done = Once(Some(Box::new(done)));
        self.0.threads.spawn(async move {
            let result = operation.await;
            done.call(result);
        });
        Ok(())
    }

    /// Runs an operation of the application to its end on the calling thread, which waits; `None` if `waiting` gave up,
    /// which cancels the operation.
    ///
    /// # Errors
    /// Those of the operation; [`Forked`](ErrorKind::Forked); [`Nested`](ErrorKind::Nested).
    pub fn wait<T>(
        &self,
        operation: impl Future<Output = Result<T, Error>>,
        waiting: Waiting<'_>,
    ) -> Result<Option<T>, Error> {
        self.app()?;
        nested(|| wait(&self.0.threads, operation, waiting))?.transpose()
    }

    /// Loads a module; the operation is its information.
    ///
    /// # Errors
    /// As [`pointwork::ModuleBuilder::load`].
    pub fn load(
        &self,
        name: &str,
        component: Component,
        options: ModuleOptions,
    ) -> impl Future<Output = Result<pointwork::ModuleInfo, Error>> + Send + use<> {
        let module = component.give_to(self.0.app.module(name).options(options));
        async move { Ok(module.load().await?) }
    }

    /// Swaps the component of a module for another; the operation is the published change. Without options the module
    /// keeps its own.
    ///
    /// # Errors
    /// As [`pointwork::ModuleBuilder::swap`].
    pub fn swap(
        &self,
        name: &str,
        component: Component,
        options: Option<ModuleOptions>,
    ) -> impl Future<Output = Result<pointwork::Change, Error>> + Send + use<> {
        let module = component.give_to(self.0.app.module(name));
        async move {
            let module = match options {
                Some(options) => module.options(options),
                None => module,
            };
            Ok(module.swap().await?)
        }
    }

    /// Makes the version before the last swap current again.
    ///
    /// # Errors
    /// As [`App::roll_back`].
    pub fn roll_back(&self, name: &str) -> impl Future<Output = Result<pointwork::Change, Error>> + Send + use<> {
        let (app, name) = (self.0.app.clone(), name.to_owned());
        async move { Ok(app.roll_back(&name).await?) }
    }

    /// Removes a module.
    ///
    /// # Errors
    /// As [`App::remove`].
    pub fn remove(&self, name: &str) -> impl Future<Output = Result<pointwork::Change, Error>> + Send + use<> {
        let (app, name) = (self.0.app.clone(), name.to_owned());
        async move { Ok(app.remove(&name).await?) }
    }

    /// Binds a function to an event of a channel of the host (spec C1). The channel `server` is for the events of the
    /// server itself, such as `crashed` and `swapped`.
    ///
    /// # Errors
    /// As [`pointwork::Channel::on_raw`]; [`Forked`](ErrorKind::Forked).
    pub fn listen(&self, channel: &str, event: &str, function: ChannelFunction) -> Result<(), Error> {
        let listener = crate::channel::listener(function.clone(), self.threads());
        self.app()?.channel(channel).on_raw(event, listener)?;
        // The function of a refused listener is dropped here, behind the locks of the application: its destructor may call it.
        drop(function);
        Ok(())
    }

    /// Has `gone` called, on a thread of the application, once nobody waits for an answer any more: the client went
    /// away, a deadline passed, or the application was closed. If the answer is given or dropped before that, `gone` is
    /// dropped. A second function takes the place of the first.
    pub fn when_gone<A>(&self, answer: &AnswerCell<A>, gone: impl FnOnce() + Send + 'static) {
        answer.when_gone(self.threads(), gone);
    }

    /// Registers a function for a route, for one method or for all (spec M1, M2).
    ///
    /// # Errors
    /// As [`App::register_route`]; [`Forked`](ErrorKind::Forked).
    pub fn route(
        &self,
        method: Option<&str>,
        path: &str,
        options: RouteOptions,
        function: RouteFunction,
    ) -> Result<(), Error> {
        let handler = crate::route::FunctionHandler::new(function.clone(), options, self.threads());
        let app = self.app()?;
        match method {
            Some(method) => app.register_route(method, path, handler)?,
            None => app.all(path, handler)?,
        };
        // As that of a refused listener.
        drop(function);
        Ok(())
    }

    /// Mounts the application in a server of the host's language; `name` is that server's, for logs and crashes. A prefix
    /// becomes that of the application's routes, and requests come with it.
    ///
    /// # Errors
    /// As [`App::connect_to`]; [`Forked`](ErrorKind::Forked).
    pub fn mount(&self, name: &'static str, place: Place, prefix: Option<&str>) -> Result<Mount, Error> {
        Mount::connect(self.clone(), name, place, prefix)
    }

    /// A holder that does not keep the application alive: for functions of the host's language, which the application
    /// keeps.
    pub fn downgrade(&self) -> WeakHost {
        WeakHost(Arc::downgrade(&self.0))
    }

    /// The body of a request, for a reader in the host's language. It can be taken once.
    ///
    /// # Errors
    /// It was taken before, or the route takes none.
    pub fn request_body(&self, context: &Context) -> Result<Chunks, Failure> {
        Ok(Chunks::of_request(context.open_body()?, self.threads()))
    }

    /// The body of a reply, for a reader in the host's language.
    pub fn chunks(&self, body: Body) -> Chunks {
        Chunks::of_reply(body, self.threads())
    }

    /// A body that a function of the host's language writes chunk by chunk, for a request or a reply. `length` is its
    /// number of bytes, if that is known. If a chunk is not there when the application ends, the body breaks off.
    pub fn body(&self, source: Source, length: Option<u64>) -> Body {
        body_of(source, length, self.threads(), self.0.cut.subscribe())
    }

    /// Answers a request in process, without any mount, as [`App::handle`] does. It is polled on the calling thread
    /// first; if it has to wait, `done` gets its end.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked).
    pub fn handle(&self, request: Request<Body>, done: impl FnOnce(Ended) + Send + 'static) -> Result<Progress, Error> {
        let app = self.app()?;
        nested(|| {
            let done = || -> Done { Box::new(done) };
            self.0
                .requests
                .drive(Box::pin(app.handle(at_this_depth(request))), done)
        })
    }

    /// Answers a request in process on the calling thread, which waits; `None` if `waiting` gave up, which cancels the
    /// request.
    ///
    /// # Errors
    /// [`Forked`](ErrorKind::Forked).
    pub fn handle_blocking(
        &self,
        request: Request<Body>,
        waiting: Waiting<'_>,
    ) -> Result<Option<Response<Body>>, Error> {
        let app = self.app()?;
        nested(|| wait(&self.0.threads, app.handle(at_this_depth(request)), waiting))
    }

    /// Serves the application by the server that is built in (HTTP/1.1 and HTTP/2 on one port), at an address such as
    /// `127.0.0.1:8080`; port 0 is a free one.
    ///
    /// # Errors
    /// The address cannot be listened on; the application refuses another adapter.
    pub fn serve(
        &self,
        address: &str,
        options: ServerOptions,
    ) -> impl Future<Output = Result<Server, Error>> + Send + use<> {
        let (host, address) = (self.clone(), address.to_owned());
        async move {
            if host.0.is_closing.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Closed, "the application is closed"));
            }
            let server = Server::start(&host, &address, options).await?;
            let mut servers = host.0.servers.lock();
            servers.retain(|server| !server.has_stopped());
            servers.push(server.clone());
            Ok(server)
        }
    }

    /// Cancels the requests that were begun and have no reply.
    pub fn cancel_requests(&self) {
        self.0.requests.cancel_all();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.get_mut().take() {
            // The last holder may be dropped on one of these threads.
            runtime.shutdown_background();
        }
    }
}

/// A component of a module.
#[derive(Clone, Debug)]
pub enum Component {
    /// Its bytes.
    Bytes(Bytes),
    /// Its file.
    File(std::path::PathBuf),
}

impl Component {
    fn give_to(self, module: pointwork::ModuleBuilder) -> pointwork::ModuleBuilder {
        match self {
            Self::Bytes(bytes) => module.bytes(bytes),
            Self::File(path) => module.file(path),
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // Texts and numbers only.
    serde_json::to_string(value).unwrap_or_default()
}

/// Runs an operation for at most that time; `None` is no limit. Then the operation is cancelled, and the result is the error
/// [`TimedOut`](ErrorKind::TimedOut).
pub async fn within<T>(time: Option<Duration>, operation: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let Some(time) = time else {
        return operation.await;
    };
    let ended = timeout(time, operation).await;
    ended.unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::TimedOut,
            format!("the operation did not end within {time:?}"),
        ))
    })
}

type Callback<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// Calls the function once, at its drop at the latest.
struct Once<T: 'static>(Option<Callback<T>>);

impl<T> Once<T> {
    fn call(mut self, result: Result<T, Error>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Once<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            pointwork::off_fiber(move || done(Err(Error::new(ErrorKind::Closed, "the application is closed"))));
        }
    }
}
