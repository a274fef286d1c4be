//! Makes the manifest of a guest. Nothing here checks names, methods or patterns: the cases test that the host does.

use std::sync::atomic::{AtomicU8, Ordering};

use pointwork_guest::bindings::types::{Channel, Controller, Listener, Manifest, Property, Route};
use serde_json::Value;

use crate::slot::{GuestText, repeated};
use crate::surroundings::spin;

/// The manifest, or the end that the guest has in its place.
pub fn of(guest: &GuestText) -> Manifest {
    let declared = &guest.declared;
    let discovery = declared["discovery"].as_str();
    match discovery {
        Some("traps") => panic!("the manifest traps on purpose"),
        Some("loops") => spin(),
        _ => {}
    }
    let (mut handlers, mut listeners) = (0.., 0..);
    let mut manifest = Manifest {
        name: option(&declared["package"]["name"]),
        version: option(&declared["package"]["version"]),
        sdk: concat!("pointwork-guest ", env!("CARGO_PKG_VERSION")).to_owned(),
        // Not `rust`: the module imports every function that a program may call, and the host expects of Rust that it imports
        // what it uses.
        language: "program".to_owned(),
        controllers: all(&declared["controllers"], |declared| controller(declared, &mut handlers)),
        channels: all(&declared["channels"], |declared| channel(declared, &mut listeners)),
        events_used: all(&declared["uses"], text),
        metadata: metadata(&declared["metadata"]),
    };
    if discovery == Some("differs") {
        change_last_path(&mut manifest);
    }
    manifest
}

/// Ends the last path in another letter each time that an instance makes the manifest.
fn change_last_path(manifest: &mut Manifest) {
    static LETTER: AtomicU8 = AtomicU8::new(b'a');
    let routes = manifest
        .controllers
        .iter_mut()
        .flat_map(|controller| &mut controller.routes);
    let path = routes
        .flat_map(|route| &mut route.paths)
        .last()
        .expect("the guest has a path");
    path.pop();
    path.push(char::from(LETTER.fetch_add(1, Ordering::Relaxed)));
}

fn controller(declared: &Value, numbers: &mut impl Iterator<Item = u32>) -> Controller {
    Controller {
        name: text(&declared["name"]),
        prefix: text(&declared["prefix"]),
        routes: all(&declared["routes"], |declared| Route {
            handler: next(numbers),
            name: text(&declared["name"]),
            method: option(&declared["method"]),
            paths: all(&declared["paths"], text),
            body: option(&declared["body"]).unwrap_or_else(|| "whole".to_owned()),
            metadata: metadata(&declared["metadata"]),
        }),
        metadata: metadata(&declared["metadata"]),
    }
}

fn channel(declared: &Value, numbers: &mut impl Iterator<Item = u32>) -> Channel {
    Channel {
        name: text(&declared["name"]),
        listeners: all(&declared["listeners"], |declared| {
            let listener = next(numbers);
            Listener {
                listener,
                name: format!("listener {listener}"),
                event: text(&declared["event"]),
                metadata: metadata(&declared["metadata"]),
            }
        }),
        metadata: metadata(&declared["metadata"]),
    }
}

fn next(numbers: &mut impl Iterator<Item = u32>) -> u32 {
    numbers.next().expect("the numbers have no end")
}

fn metadata(pairs: &Value) -> Vec<Property> {
    all(pairs, |pair| Property {
        name: text(&pair[0]),
        value: text(&pair[1]),
    })
}

fn all<T>(values: &Value, one: impl FnMut(&Value) -> T) -> Vec<T> {
    repeated(values).map(one).collect()
}

fn text(value: &Value) -> String {
    option(value).expect("the suite writes a text here")
}

fn option(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
