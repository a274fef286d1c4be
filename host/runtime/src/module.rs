//! One loaded module: compiled, probed, ready to serve.

use std::fmt;
use std::sync::Arc;

use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use pointwork_core::{BoxFuture, Context, Delivery, Failure, Handler, HandlerFuture, Listener, Payload, Subscription};
use sha2::{Digest, Sha256};

use crate::bindings::exports::pointwork::module::channels::{Channel, Listener as DeclaredListener};
use crate::bindings::exports::pointwork::module::routes::Controller;
use crate::call::{Event, Request};
use crate::compile::{Compiled, compile};
use crate::concurrent::Concurrent;
use crate::engine::Engines;
use crate::executor::Threads;
use crate::inspect::Form;
use crate::levels::Levels;
use crate::options::ModuleOptions;
use crate::sequential::Sequential;
use crate::template::{Declared, probe};
use crate::{Capability, Error, ErrorKind};

/// What is told of a loaded module.
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
    /// How many routes it declares.
    pub routes: usize,
    /// The channels that it declares, in its order.
    pub channels: Vec<ChannelInfo>,
    /// What it imports beyond the contract.
    pub asks: Vec<Capability>,
    /// What it is granted, one text for each capability; see [`Grants::describe`](crate::Grants::describe).
    pub granted: Vec<String>,
    /// What it declares but hardly means, a sentence each: a method in lower case, a method `ALL`. Logged at load too.
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

/// How the calls of a module reach its instances.
enum Runner {
    Sequential(Levels<Sequential>),
    Concurrent(Levels<Concurrent>),
}

/// A module that was loaded whole.
pub(crate) struct Module {
    pub(crate) info: ModuleInfo,
    pub(crate) routes: Vec<DeclaredRoute>,
    channels: Vec<Channel>,
    pub(crate) options: ModuleOptions,
    runner: Arc<Runner>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

impl Module {
    /// Checks, compiles and probes a component, and reads its declarations.
    pub(crate) async fn load(
        name: &str,
        bytes: Vec<u8>,
        options: ModuleOptions,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
    ) -> Result<Self, Error> {
        let digest = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let size = bytes.len();
        let compiling = {
            let (name, options, engines) = (name.to_owned(), options.clone(), engines.clone());
            threads.spawn_blocking(move || compile(&name, &bytes, options, &engines))
        };
        let compiled = compiling
            .await
            .map_err(|error| Error::new(ErrorKind::Compile, "compiling the component panicked").with_source(error))??;
        let Compiled {
            template,
            pure,
            inspection,
            fit,
        } = compiled;
        let template = Arc::new(template);
        let Declared { controllers, channels } = probe(&template, threads).await?;
        let controllers: Vec<_> = controllers.into_iter().map(declaration_in).collect();
        let routes = validate(name, &controllers)
            .map_err(|errors| Error::new(ErrorKind::Refused, "its declarations are refused").with_source(errors))?;
        let info = ModuleInfo {
            name: name.to_owned(),
            form: fit.form,
            version: fit.version,
            digest,
            size,
            routes: routes.len(),
            channels: channels.iter().map(ChannelInfo::of).collect(),
            asks: inspection.asks(),
            granted: options.grants.describe(),
            warnings: crate::lint::warnings(&routes),
        };
        let runner = Arc::new(match fit.form {
            Form::Synchronous => Runner::Sequential(Levels::new(Sequential::new(template, pure, threads.clone()))),
            Form::Asynchronous => Runner::Concurrent(Levels::new(Concurrent::new(template, threads.clone()))),
        });
        Ok(Self {
            info,
            routes,
            channels,
            options,
            runner,
        })
    }

    /// The handler of that number.
    pub(crate) fn handler(&self, number: u32) -> Arc<dyn Handler> {
        Arc::new(Numbered {
            runner: self.runner.clone(),
            number,
        })
    }

    /// The listeners of its channels, in its order.
    pub(crate) fn listeners(&self) -> Vec<Subscription> {
        let module: Arc<str> = self.info.name.as_str().into();
        let subscription = |channel: &Channel, listener: &DeclaredListener| Subscription {
            channel: channel.name.clone(),
            event: listener.event.clone(),
            module: Some(self.info.name.clone()),
            listener: Arc::new(Heard {
                module: module.clone(),
                runner: self.runner.clone(),
                number: listener.id,
            }),
        };
        let channels = self.channels.iter();
        channels
            .flat_map(|channel| {
                channel
                    .listeners
                    .iter()
                    .map(move |listener| subscription(channel, listener))
            })
            .collect()
    }
}

impl ChannelInfo {
    fn of(channel: &Channel) -> Self {
        Self {
            name: channel.name.clone(),
            events: channel
                .listeners
                .iter()
                .map(|listener| listener.event.clone())
                .collect(),
        }
    }
}

/// Runs a handler by its number.
struct Numbered {
    runner: Arc<Runner>,
    number: u32,
}

impl Handler for Numbered {
    fn call(&self, context: Context) -> HandlerFuture {
        let request = Request {
            handler: self.number,
            context,
        };
        // Nothing waits for a request but its client.
        match &*self.runner {
            Runner::Sequential(levels) => levels.at(0).clone().handle(request),
            Runner::Concurrent(levels) => levels.at(0).clone().run(request),
        }
    }
}

/// Runs a listener by its number.
struct Heard {
    module: Arc<str>,
    runner: Arc<Runner>,
    number: u32,
}

impl Listener for Heard {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let reentrance = delivery.caller().chain().reentrance(&self.module);
        let event = Event {
            listener: self.number,
            delivery,
            payload,
        };
        match &*self.runner {
            Runner::Sequential(levels) => levels.at(reentrance).clone().run(event),
            Runner::Concurrent(levels) => levels.at(reentrance).clone().run(event),
        }
    }
}

fn declaration_in(controller: Controller) -> ControllerDeclaration {
    let routes = controller.routes.into_iter().map(|route| RouteDeclaration {
        handler: route.handler,
        name: route.name,
        method: route.method,
        paths: route.paths,
    });
    ControllerDeclaration {
        name: controller.name,
        prefix: controller.prefix,
        routes: routes.collect(),
    }
}
