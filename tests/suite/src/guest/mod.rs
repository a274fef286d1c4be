//! Synthetic guests: modules that a test builds without a compiler for a guest language.
//!
//! A [`Guest`] lists controllers with routes and channels with listeners. Each of these has a [`Program`]: a few steps
//! on one text, and an end. The suite writes the guest into a module that is built with the SDK for Rust and runs the
//! programs; see [`languages`](crate::languages). Nothing checks the declarations here: an invalid method, a pattern that does
//! not parse and a channel without a name reach the host unchanged.
//!
//! A guest of [another version](Guest::contract_version) of the contract, and a guest with an [import](Guest::importing) that the SDK
//! does not have, are changed copies of the built component. [`of_world`] makes components that the host refuses for their world.

mod component;
mod program;

pub use component::{
    componentize, core_module, finish, foreign_component, laden, of_world, truncated_component, wit_dir,
    with_instances, with_module,
};
pub use program::{End, Program, ReplyBody, Step};

/// A module to be built.
#[derive(Clone, Debug, Default)]
pub struct Guest {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) asynchronous: bool,
    pub(crate) contract_version: Option<String>,
    pub(crate) foreign_import: Option<String>,
    pub(crate) described: Vec<Step>,
    pub(crate) started: Vec<Step>,
    pub(crate) package: Option<(String, String)>,
    pub(crate) uses: Vec<String>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) discovery: Discovery,
    pub(crate) flood: Option<(Flood, u32)>,
}

/// A list of the manifest whose last entry a guest repeats, without any bytes in its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// The controllers.
    Controllers,
    /// The routes of the last controller.
    Routes,
    /// The paths of the last route of the last controller.
    Paths,
    /// The channels.
    Channels,
    /// The listeners of the last channel.
    Listeners,
    /// The events that it uses.
    Events,
    /// The metadata of the module.
    Metadata,
}

impl Flood {
    /// All lists.
    pub const ALL: [Self; 7] = [
        Self::Controllers,
        Self::Routes,
        Self::Paths,
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

    /// Targets the asynchronous world. An instance has several calls in flight.
    #[must_use]
    pub fn asynchronous(mut self) -> Self {
        self.asynchronous = true;
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

    /// Declares the last entry of a list so many times.
    #[must_use]
    pub fn flood(mut self, list: Flood, times: u32) -> Self {
        self.flood = Some((list, times));
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

    /// The bytes of the component.
    ///
    /// # Panics
    /// If the guest cannot be built, or a program has a step of the other role: the test is wrong.
    pub fn build(&self) -> Vec<u8> {
        let mut component = crate::languages::build(self);
        if let Some(version) = &self.contract_version {
            component::set_contract_version(&mut component, version);
        }
        if let Some(interface) = &self.foreign_import {
            component::import_interface(&mut component, interface);
        }
        component
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
