//! The flavor of a channel. Its callers cannot tell flavors apart (spec C3), so a case runs its channels in every flavor.

pub(crate) mod native;

use std::fmt;

use crate::guest::{Channel, Guest, Program};
use crate::subject::AppSpec;

/// A flavor of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The host application: the same programs, run natively.
    Native,
    /// A module of the synchronous form.
    Module,
    /// A module of the asynchronous form.
    AsyncModule,
}

impl Flavor {
    /// All flavors.
    pub const ALL: [Self; 3] = [Self::Native, Self::Module, Self::AsyncModule];

    /// The flavors that are modules.
    pub const MODULES: [Self; 2] = [Self::Module, Self::AsyncModule];

    /// The module of a channel in this flavor; `None` for the host application.
    pub fn module(self, channel: &str) -> Option<String> {
        (self != Self::Native).then(|| format!("{channel}-module"))
    }

    /// The guest in this form; `Native` counts as synchronous, as only channels can be native.
    #[must_use]
    pub fn form(self, guest: Guest) -> Guest {
        match self {
            Self::Native | Self::Module => guest,
            Self::AsyncModule => guest.asynchronous(),
        }
    }

    /// The world of the contract for modules of this form.
    pub fn world(self) -> &'static str {
        match self {
            Self::Native | Self::Module => "module",
            Self::AsyncModule => "module-async",
        }
    }
}

/// The program of a native listener as words, for a host in another language: each step is its name, the number of its
/// arguments and these, and the last one is the end.
///
/// # Panics
/// At a step that only handlers or only guests have, as the listener itself does.
pub fn words(program: &Program) -> Vec<Vec<u8>> {
    native::words(program)
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "in the host application",
            Self::Module => "in a synchronous module",
            Self::AsyncModule => "in an asynchronous module",
        })
    }
}

impl AppSpec {
    /// A channel in a flavor: native listeners, or a module of its own, named by [`Flavor::module`].
    #[must_use]
    pub fn channel(self, flavor: Flavor, channel: Channel) -> Self {
        match flavor.module(&channel.name) {
            Some(module) => self.load(&module, flavor.form(Guest::new().channel(channel)).build()),
            None => channel.listeners.into_iter().fold(self, |app, listener| {
                app.runs(&channel.name, &listener.event, listener.program)
            }),
        }
    }
}
