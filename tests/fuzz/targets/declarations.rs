//! The target of the check of manifests: takes any bytes, and panics where a promise of the check does not hold. The runtime
//! has it as a module, since the check is private.

use pointwork_core::is_unprintable;
use pointwork_core::routing::{MAX_NAME_BYTES, MAX_TOTAL_PATTERN_BYTES, Pattern};

use super::{check, first_difference, routes};
use crate::ErrorKind;
use crate::guest::bindings::manifest::{Channel, Controller, Listener, Manifest, Route};
use crate::guest::bindings::types::Property;

/// A declaration on each line, its fields separated by tabs: the check of a manifest as a module returns it.
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn manifest(input: &[u8]) {
    let declared = read(&String::from_utf8_lossy(input));
    assert_eq!(first_difference(&declared, &declared), None);
    if let Err(message) = check("m", &declared) {
        return told(&message);
    }
    let routes = match routes("m", &declared) {
        Ok(routes) => routes,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Refused);
            let reason = std::error::Error::source(&error).expect("the reason");
            return told(&reason.to_string());
        }
    };
    let each = || declared.controllers.iter().flat_map(|controller| &controller.routes);
    let paths: usize = each().map(|route| route.paths.len().max(1)).sum();
    assert_eq!(routes.len(), paths, "a route for each path");
    let mut length = 0;
    for (route, _) in &routes {
        let pattern = route.pattern.as_str();
        assert_eq!(Pattern::parse(pattern).as_ref(), Ok(&route.pattern));
        length += pattern.len();
        for name in [&route.controller, &route.handler_name] {
            assert!(
                name.len() <= MAX_NAME_BYTES && !name.contains(is_unprintable),
                "{name:?}"
            );
        }
    }
    assert!(length <= MAX_TOTAL_PATTERN_BYTES, "{length}");
}

/// A message names the place, and each of its lines fits a log.
fn told(message: &str) {
    assert!(message.contains("module `m`"), "{message}");
    for line in message.lines() {
        assert!(!line.contains(is_unprintable), "{line:?}");
        assert!(line.len() < 16 * 1024, "a line of {} bytes", line.len());
    }
}

fn read(text: &str) -> Manifest {
    let mut manifest = Manifest {
        name: None,
        version: None,
        sdk: String::new(),
        language: String::new(),
        controllers: Vec::new(),
        channels: Vec::new(),
        events_used: Vec::new(),
        metadata: Vec::new(),
    };
    for line in text.split('\n') {
        let (word, rest) = line.split_once('\t').unwrap_or((line, ""));
        let mut fields = rest.split('\t').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        match word {
            "name" => manifest.name = Some(next()),
            "version" => manifest.version = Some(next()),
            "sdk" => manifest.sdk = next(),
            "language" => manifest.language = next(),
            "uses" => manifest.events_used.push(next()),
            "meta" => {
                let (name, value) = (next(), next());
                manifest.metadata.push(Property { name, value });
            }
            "controller" => manifest.controllers.push(Controller {
                name: next(),
                prefix: next(),
                routes: Vec::new(),
                metadata: Vec::new(),
            }),
            "channel" => manifest.channels.push(Channel {
                name: next(),
                listeners: Vec::new(),
                metadata: Vec::new(),
            }),
            _ => part(&mut manifest, word, rest),
        }
    }
    manifest
}

/// A part of the controller or the channel that was declared last.
fn part(manifest: &mut Manifest, word: &str, rest: &str) {
    let mut fields = rest.split('\t').map(str::to_owned);
    let mut next = || fields.next().unwrap_or_default();
    let (controller, channel) = (manifest.controllers.last_mut(), manifest.channels.last_mut());
    match (word, controller, channel) {
        ("route", Some(controller), _) => controller.routes.push(Route {
            handler: next().parse().unwrap_or_default(),
            name: next(),
            method: Some(next()).filter(|method| method != "-"),
            body: next(),
            paths: fields.collect(),
            metadata: Vec::new(),
        }),
        ("listener", _, Some(channel)) => channel.listeners.push(Listener {
            listener: next().parse().unwrap_or_default(),
            name: next(),
            event: next(),
            metadata: Vec::new(),
        }),
        ("of-controller", Some(Controller { metadata, .. }), _) | ("of-channel", _, Some(Channel { metadata, .. })) => {
            let (name, value) = (next(), next());
            metadata.push(Property { name, value });
        }
        ("of-route", Some(controller), _) => {
            if let Some(route) = controller.routes.last_mut() {
                let (name, value) = (next(), next());
                route.metadata.push(Property { name, value });
            }
        }
        ("of-listener", _, Some(channel)) => {
            if let Some(listener) = channel.listeners.last_mut() {
                let (name, value) = (next(), next());
                listener.metadata.push(Property { name, value });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_of_manifest() {
        pointwork_seeds::run("manifest", 2_000, super::manifest);
    }
}
