//! Synthetic guests: modules that a test builds without a compiler for a guest language.
//!
//! A [`Guest`] lists controllers with routes and channels with listeners. Each of these has a [`Program`]: a few steps
//! on one text, and an end. The suite writes the guest into a module that is built with the SDK for Rust and runs the
//! programs; see [`languages`](crate::languages). Nothing checks the declarations here: an invalid method, a pattern that does
//! not parse and a channel without a name reach the host unchanged.
//!
//! A guest that is [written by hand](Guest::written_by_hand) becomes a WebAssembly core module with the canonical ABI instead,
//! and then a component, in milliseconds. Such a guest can do what no SDK does, such as import an interface that the host does
//! not have.

mod code;
mod component;
mod declarations;
mod ends;
mod imports;
mod layout;
mod module;
mod program;
mod steps;
mod tasks;

pub use component::{
    componentize, contract, core_module, finish, foreign_component, laden, truncated_component, wit_dir,
    with_instances, with_module,
};
pub use program::{End, Program, ReplyBody, Step};

/// A module to be built.
#[derive(Clone, Debug, Default)]
pub struct Guest {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) asynchronous: bool,
    pub(crate) mixed_forms: bool,
    pub(crate) contract_version: Option<String>,
    pub(crate) foreign_import: Option<String>,
    pub(crate) later_import: Option<String>,
    pub(crate) waits_in_the_other_form: bool,
    pub(crate) described: Vec<Step>,
    pub(crate) started: Vec<Step>,
    pub(crate) package: Option<(String, String)>,
    pub(crate) uses: Vec<String>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) discovery: Discovery,
    pub(crate) without_code: bool,
    pub(crate) flood: Option<(Flood, u32)>,
    written_by_hand: bool,
}

/// A list of the manifest that a guest makes long without any bytes in its component: its entries are zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// The controllers.
    Controllers,
    /// The routes of each controller.
    Routes,
    /// The channels.
    Channels,
    /// The listeners of each channel.
    Listeners,
    /// The events that it uses.
    Events,
    /// The metadata of the module.
    Metadata,
}

impl Flood {
    /// All lists.
    pub const ALL: [Self; 6] = [
        Self::Controllers,
        Self::Routes,
        Self::Channels,
        Self::Listeners,
        Self::Events,
        Self::Metadata,
    ];
}

/// A controller of a [`Guest`].
#[derive(Clone, Debug)]
pub struct Controller {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) routes: Vec<Route>,
    pub(crate) metadata: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) method: Option<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) body: String,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) program: Program,
}

/// A channel of a [`Guest`].
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) name: String,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) metadata: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) event: String,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) program: Program,
}

/// The guest's behaviour when the host reads its manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discovery {
    /// It returns them.
    #[default]
    Declares,
    /// It traps.
    Traps,
    /// It never returns.
    Loops,
    /// Its last path ends in another letter each time.
    Differs,
}

impl Guest {
    /// A guest without controllers and channels.
    pub fn new() -> Self {
        Self::default()
    }

    /// A guest with one controller.
    pub fn with(controller: Controller) -> Self {
        Self::new().controller(controller)
    }

    /// Lists one more controller.
    #[must_use]
    pub fn controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Lists one more channel.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channels.push(channel);
        self
    }

    /// Writes the component by hand, without an SDK, so that the guest can do what an SDK refuses.
    #[must_use]
    pub fn written_by_hand(mut self) -> Self {
        self.written_by_hand = true;
        self
    }

    /// Whether the guest is written by hand, or has a property that no module of an SDK can have.
    pub(crate) fn is_written_by_hand(&self) -> bool {
        self.written_by_hand
            || self.mixed_forms
            || self.waits_in_the_other_form
            || self.contract_version.is_some()
            || self.foreign_import.is_some()
            || !self.started.is_empty()
            || self.flood.is_some()
            || self.without_code
            || self.programs().any(Program::is_written_by_hand)
    }

    /// The programs of handlers and listeners.
    fn programs(&self) -> impl Iterator<Item = &Program> {
        let routes = self.controllers.iter().flat_map(|controller| &controller.routes);
        let listeners = self.channels.iter().flat_map(|channel| &channel.listeners);
        routes
            .map(|route| &route.program)
            .chain(listeners.map(|listener| &listener.program))
    }

    /// Targets the asynchronous world. An instance has several calls in flight.
    #[must_use]
    pub fn asynchronous(mut self) -> Self {
        self.asynchronous = true;
        self
    }

    /// Exports handlers and listeners of both forms; the contract has no such world.
    #[must_use]
    pub fn mixed_forms(mut self) -> Self {
        self.mixed_forms = true;
        self
    }

    /// Builds against another version of the contract, such as `9.0.0`.
    #[must_use]
    pub fn contract_version(mut self, version: &str) -> Self {
        self.contract_version = Some(version.to_owned());
        self
    }

    /// Imports an interface from outside the contract, such as `wasi:filesystem/types@0.2.6`.
    #[must_use]
    pub fn importing(mut self, interface: &str) -> Self {
        self.foreign_import = Some(interface.to_owned());
        self
    }

    /// Is built against a later version of the contract, of which it imports this function of the interface `log`.
    #[must_use]
    pub fn importing_later(mut self, version: &str, function: &str) -> Self {
        self.later_import = Some(function.to_owned());
        self.contract_version(version)
    }

    /// Imports the functions that wait of the other form. Its own code is synchronous, like that of a language without async:
    /// an instance has one call in flight at a time.
    #[must_use]
    pub fn waits_in_the_other_form(mut self) -> Self {
        self.waits_in_the_other_form = true;
        self
    }

    /// Runs steps when its manifest is read. The steps have no request.
    #[must_use]
    pub fn when_described(mut self, steps: Vec<Step>) -> Self {
        self.described = steps;
        self
    }

    /// Runs steps when an instance of it is made. The steps have no request.
    #[must_use]
    pub fn when_started(mut self, steps: Vec<Step>) -> Self {
        self.started = steps;
        self
    }

    /// Declares the name and version of its package.
    #[must_use]
    pub fn package(mut self, name: &str, version: &str) -> Self {
        self.package = Some((name.to_owned(), version.to_owned()));
        self
    }

    /// Declares that it uses an event.
    #[must_use]
    pub fn uses(mut self, event: &str) -> Self {
        self.uses.push(event.to_owned());
        self
    }

    /// Declares so many entries of a list, instead of its own.
    #[must_use]
    pub fn flood(mut self, list: Flood, entries: u32) -> Self {
        self.flood = Some((list, entries));
        self
    }

    /// Leaves the programs out: handlers and listeners trap.
    #[must_use]
    pub fn without_code(mut self) -> Self {
        self.without_code = true;
        self
    }

    /// Adds metadata of the module.
    #[must_use]
    pub fn metadata(mut self, name: &str, value: &str) -> Self {
        self.metadata.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the behaviour when the host reads the manifest.
    #[must_use]
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// Whether an instance has several calls in flight.
    fn is_concurrent(&self) -> bool {
        self.asynchronous && !self.mixed_forms && !self.waits_in_the_other_form
    }

    /// The bytes of the component.
    ///
    /// # Panics
    /// If the guest cannot be built, or a program has a step of the other role: the test is wrong.
    pub fn build(&self) -> Vec<u8> {
        if let Some(component) = crate::languages::build(self) {
            return component;
        }
        component::build(self).unwrap_or_else(|error| panic!("a synthetic guest does not build: {error:#}"))
    }
}

impl Controller {
    /// A controller with a prefix, as its author would write it.
    pub fn new(name: &str, prefix: &str) -> Self {
        Self {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
            routes: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// A route with a method; `None` is every method. An empty list of paths stands for the prefix itself.
    #[must_use]
    pub fn route(mut self, name: &str, method: Option<&str>, paths: &[&str], program: Program) -> Self {
        self.routes.push(Route {
            name: name.to_owned(),
            method: method.map(str::to_owned),
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            body: "whole".to_owned(),
            metadata: Vec::new(),
            program,
        });
        self
    }

    /// Sets the body mode of the last route; the default is `whole`.
    ///
    /// # Panics
    /// If the guest has no routes.
    #[must_use]
    pub fn takes(mut self, body: &str) -> Self {
        self.routes.last_mut().expect("a route").body = body.to_owned();
        self
    }

    /// Adds metadata of the last route, or of the controller if it has no route yet.
    #[must_use]
    pub fn metadata(mut self, name: &str, value: &str) -> Self {
        let metadata = match self.routes.last_mut() {
            Some(route) => &mut route.metadata,
            None => &mut self.metadata,
        };
        metadata.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A GET route with one path, named after the path.
    #[must_use]
    pub fn get(self, path: &str, program: Program) -> Self {
        self.route(path, Some("GET"), &[path], program)
    }

    /// A POST route with one path, named after the path.
    #[must_use]
    pub fn post(self, path: &str, program: Program) -> Self {
        self.route(path, Some("POST"), &[path], program)
    }
}

impl Channel {
    /// A channel of that name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            listeners: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// Adds metadata of the last listener, or of the channel if it has no listener yet.
    #[must_use]
    pub fn metadata(mut self, name: &str, value: &str) -> Self {
        let metadata = match self.listeners.last_mut() {
            Some(listener) => &mut listener.metadata,
            None => &mut self.metadata,
        };
        metadata.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Listens to an event. The text of the program starts as the payload's data.
    #[must_use]
    pub fn on(mut self, event: &str, program: Program) -> Self {
        self.listeners.push(Listener {
            event: event.to_owned(),
            metadata: Vec::new(),
            program,
        });
        self
    }
}
