//! The declarations of a synthetic guest, laid out as the canonical ABI returns them.

use super::layout::{Data, Record, Span};
use super::{Channel, Controller, Guest};

/// The list of controllers. Routes are numbered consecutively over all controllers.
pub(super) fn controllers(guest: &Guest, data: &mut Data) -> Span {
    let mut numbers = 0..;
    let mut controller = |controller: &Controller| {
        let mut routes = Vec::new();
        for (route, number) in controller.routes.iter().zip(numbers.by_ref()) {
            let path = |path: &String| Record::default().span(data.bytes(path));
            let paths: Vec<_> = route.paths.iter().map(path).collect();
            let record = Record::default()
                .number(number)
                .span(data.bytes(&route.name))
                .option(route.method.as_ref().map(|method| data.bytes(method)))
                .span(data.list(&paths));
            routes.push(record);
        }
        Record::default()
            .span(data.bytes(&controller.name))
            .span(data.bytes(&controller.prefix))
            .span(data.list(&routes))
    };
    let controllers: Vec<_> = guest.controllers.iter().map(&mut controller).collect();
    data.list(&controllers)
}

/// The list of channels. Listeners are numbered consecutively over all channels.
pub(super) fn channels(guest: &Guest, data: &mut Data) -> Span {
    let mut numbers = 0..;
    let mut channel = |channel: &Channel| {
        let mut listeners = Vec::new();
        for (listener, number) in channel.listeners.iter().zip(numbers.by_ref()) {
            listeners.push(Record::default().number(number).span(data.bytes(&listener.event)));
        }
        Record::default()
            .span(data.bytes(&channel.name))
            .span(data.list(&listeners))
    };
    let channels: Vec<_> = guest.channels.iter().map(&mut channel).collect();
    data.list(&channels)
}
