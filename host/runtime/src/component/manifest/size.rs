//! The size of a manifest in the host's memory.

use crate::guest::bindings::manifest::{Channel, Controller, Listener, Manifest, Route};
use crate::guest::bindings::types::Property;

/// The bytes of a manifest: its texts, and its records as the host holds them.
pub(super) fn size(manifest: &Manifest) -> usize {
    let Manifest {
        name,
        version,
        sdk,
        language,
        controllers,
        channels,
        events_used,
        metadata,
    } = manifest;
    let texts = [name, version].map(|text| text.as_ref().map_or(0, String::len));
    texts.iter().sum::<usize>()
        + sdk.len()
        + language.len()
        + all(controllers, of_controller)
        + all(channels, of_channel)
        + all(events_used, String::len)
        + all(metadata, of_property)
}

fn of_controller(controller: &Controller) -> usize {
    controller.name.len()
        + controller.prefix.len()
        + all(&controller.routes, of_route)
        + all(&controller.metadata, of_property)
}

fn of_route(route: &Route) -> usize {
    route.name.len()
        + route.method.as_ref().map_or(0, String::len)
        + all(&route.paths, String::len)
        + route.body.len()
        + all(&route.metadata, of_property)
}

fn of_channel(channel: &Channel) -> usize {
    channel.name.len() + all(&channel.listeners, of_listener) + all(&channel.metadata, of_property)
}

fn of_listener(listener: &Listener) -> usize {
    listener.name.len() + listener.event.len() + all(&listener.metadata, of_property)
}

fn of_property(property: &Property) -> usize {
    property.name.len() + property.value.len()
}

fn all<T>(items: &[T], size: impl Fn(&T) -> usize) -> usize {
    size_of_val(items) + items.iter().map(size).sum::<usize>()
}
