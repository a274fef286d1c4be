//! The declarations of a module, as the application lists them.

use serde::{Deserialize, Serialize};

use crate::guest::bindings::{manifest, types};

/// A controller of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ControllerInfo {
    /// Its name in the source.
    pub name: String,
    /// Its prefix, as it declares it.
    pub prefix: String,
    /// Its handlers, in its order.
    pub handlers: Vec<HandlerInfo>,
    /// Its open metadata: names with values, in its order.
    pub metadata: Vec<(String, String)>,
}

impl ControllerInfo {
    pub(super) fn from_manifest(controller: &manifest::Controller) -> Self {
        Self {
            name: controller.name.clone(),
            prefix: controller.prefix.clone(),
            handlers: controller.routes.iter().map(HandlerInfo::from_manifest).collect(),
            metadata: pairs(&controller.metadata),
        }
    }
}

/// A handler of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct HandlerInfo {
    /// Its name in the source.
    pub name: String,
    /// Its method; `None` for every method.
    pub method: Option<String>,
    /// Its paths, as it declares them.
    pub paths: Vec<String>,
    /// Its body mode: `none`, `whole` or `stream`.
    pub body: String,
    /// Its open metadata: names with values, in its order.
    pub metadata: Vec<(String, String)>,
}

impl HandlerInfo {
    pub(super) fn from_manifest(route: &manifest::Route) -> Self {
        Self {
            name: route.name.clone(),
            method: route.method.clone(),
            paths: route.paths.clone(),
            body: route.body.clone(),
            metadata: pairs(&route.metadata),
        }
    }
}

/// A channel of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ChannelInfo {
    /// Its name.
    pub name: String,
    /// The names of its events, in the module's order.
    pub events: Vec<String>,
    /// Its listeners, in the module's order.
    pub listeners: Vec<ListenerInfo>,
    /// Its open metadata: names with values, in its order.
    pub metadata: Vec<(String, String)>,
}

impl ChannelInfo {
    pub(super) fn from_manifest(channel: &manifest::Channel) -> Self {
        let events = channel.listeners.iter().map(|listener| listener.event.clone());
        Self {
            name: channel.name.clone(),
            events: events.collect(),
            listeners: channel.listeners.iter().map(ListenerInfo::from_manifest).collect(),
            metadata: pairs(&channel.metadata),
        }
    }
}

/// A listener of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ListenerInfo {
    /// Its name in the source.
    pub name: String,
    /// The name of its event within the channel.
    pub event: String,
    /// Its open metadata: names with values, in its order.
    pub metadata: Vec<(String, String)>,
}

impl ListenerInfo {
    pub(super) fn from_manifest(listener: &manifest::Listener) -> Self {
        Self {
            name: listener.name.clone(),
            event: listener.event.clone(),
            metadata: pairs(&listener.metadata),
        }
    }
}

/// Names with values.
pub(super) fn pairs(metadata: &[types::Property]) -> Vec<(String, String)> {
    let pair = |property: &types::Property| (property.name.clone(), property.value.clone());
    metadata.iter().map(pair).collect()
}
