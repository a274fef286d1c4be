//! The manifest of a synthetic guest, laid out as the canonical ABI returns it.

use super::layout::{Data, Record, Span};
use super::{Channel, Controller, Flood, Guest};

/// Where the zeros of a [`Flood`] begin, behind the data of any guest that has one.
const ZEROS: u32 = 1024 * 1024;

/// The most bytes of one of its entries.
const MOST_ZEROS: u32 = 52;

/// The memory that a guest needs for its flood.
pub(super) fn flood_end(guest: &Guest) -> u32 {
    guest.flood.map_or(0, |(_, entries)| ZEROS + entries * MOST_ZEROS)
}

fn flooded(guest: &Guest, list: Flood, own: Span) -> Span {
    match guest.flood {
        Some((flooded, len)) if flooded == list => Span { at: ZEROS, len },
        _ => own,
    }
}

/// The addresses of a manifest in the data.
pub(super) struct Manifest {
    pub(super) at: u32,
    /// The last path of the guest, which [`Discovery::Differs`](super::Discovery::Differs) changes.
    pub(super) path: Span,
}

/// Adds the manifest. Routes and listeners are numbered consecutively over all controllers and channels.
pub(super) fn manifest(guest: &Guest, data: &mut Data) -> Manifest {
    let mut last_path = Span { at: 0, len: 0 };
    let controllers = controllers(guest, data, &mut last_path);
    let channels = channels(guest, data);
    let uses = guest.uses.iter().map(|event| Record::default().span(data.bytes(event)));
    let uses: Vec<_> = uses.collect();
    let package = guest.package.as_ref();
    let record = Record::default()
        .option(package.map(|(name, _)| data.bytes(name)))
        .option(package.map(|(_, version)| data.bytes(version)))
        .span(data.bytes("pointwork-suite 1"))
        .span(data.bytes("wat"))
        .span(flooded(guest, Flood::Controllers, controllers))
        .span(flooded(guest, Flood::Channels, channels))
        .span(flooded(guest, Flood::Events, data.list(&uses)))
        .span(flooded(guest, Flood::Metadata, data.properties(&guest.metadata)));
    Manifest {
        at: data.record(&record),
        path: last_path,
    }
}

fn controllers(guest: &Guest, data: &mut Data, last_path: &mut Span) -> Span {
    let mut numbers = 0..;
    let mut controller = |controller: &Controller| {
        let mut routes = Vec::new();
        for (route, number) in controller.routes.iter().zip(numbers.by_ref()) {
            let mut paths = Vec::new();
            for path in &route.paths {
                *last_path = data.bytes(path);
                paths.push(Record::default().span(*last_path));
            }
            let record = Record::default()
                .number(number)
                .span(data.bytes(&route.name))
                .option(route.method.as_ref().map(|method| data.bytes(method)))
                .span(data.list(&paths))
                .span(data.bytes(&route.body))
                .span(data.properties(&route.metadata));
            routes.push(record);
        }
        Record::default()
            .span(data.bytes(&controller.name))
            .span(data.bytes(&controller.prefix))
            .span(flooded(guest, Flood::Routes, data.list(&routes)))
            .span(data.properties(&controller.metadata))
    };
    let controllers: Vec<_> = guest.controllers.iter().map(&mut controller).collect();
    data.list(&controllers)
}

fn channels(guest: &Guest, data: &mut Data) -> Span {
    let mut numbers = 0..;
    let mut channel = |channel: &Channel| {
        let mut listeners = Vec::new();
        for (listener, number) in channel.listeners.iter().zip(numbers.by_ref()) {
            let record = Record::default()
                .number(number)
                .span(data.bytes(format!("listener {number}")))
                .span(data.bytes(&listener.event))
                .span(data.properties(&listener.metadata));
            listeners.push(record);
        }
        Record::default()
            .span(data.bytes(&channel.name))
            .span(flooded(guest, Flood::Listeners, data.list(&listeners)))
            .span(data.properties(&channel.metadata))
    };
    let channels: Vec<_> = guest.channels.iter().map(&mut channel).collect();
    data.list(&channels)
}
