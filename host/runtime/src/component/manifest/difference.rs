//! The first difference between two readings of a manifest.

use serde_json::Value;

use crate::guest::bindings::manifest::Manifest;

/// The place of the first difference, such as `controllers[1].routes[0].paths`.
pub(super) fn first_difference(one: &Manifest, other: &Manifest) -> Option<String> {
    if one == other {
        return None;
    }
    // Texts, numbers and lists always have a JSON form.
    let (one, other) = (serde_json::to_value(one).ok()?, serde_json::to_value(other).ok()?);
    let mut place = String::new();
    descend(&one, &other, &mut place);
    Some(place)
}

fn descend(one: &Value, other: &Value, place: &mut String) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let mut pairs = fields
                .iter()
                .filter_map(|(name, value)| Some((name, value, others.get(name)?)));
            if let Some((name, one, other)) = pairs.find(|(_, one, other)| one != other) {
                if !place.is_empty() {
                    place.push('.');
                }
                // The names of the contract, which Rust does not allow.
                place.push_str(&name.replace('_', "-"));
                descend(one, other, place);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let mut pairs = items.iter().zip(others).enumerate();
            if let Some((index, (one, other))) = pairs.find(|(_, (one, other))| one != other) {
                place.push_str(&format!("[{index}]"));
                descend(one, other, place);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::bindings::manifest::{Controller, Route};

    fn manifest(paths: &[&str], events_used: &[&str]) -> Manifest {
        let route = Route {
            handler: 0,
            name: "show".to_owned(),
            method: None,
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            body: "whole".to_owned(),
            metadata: Vec::new(),
        };
        let controller = |name: &str, routes| Controller {
            name: name.to_owned(),
            prefix: "/".to_owned(),
            routes,
            metadata: Vec::new(),
        };
        Manifest {
            name: None,
            version: None,
            sdk: "sdk".to_owned(),
            language: "rust".to_owned(),
            controllers: vec![controller("first", Vec::new()), controller("second", vec![route])],
            channels: Vec::new(),
            events_used: events_used.iter().map(|&event| event.to_owned()).collect(),
            metadata: Vec::new(),
        }
    }

    #[test]
    fn the_place_is_named_as_in_the_contract() {
        let place = |one: &Manifest, other: &Manifest| first_difference(one, other);
        let one = manifest(&["a", "b"], &[]);
        assert_eq!(place(&one, &one), None);
        assert_eq!(
            place(&one, &manifest(&["a"], &[])).as_deref(),
            Some("controllers[1].routes[0].paths")
        );
        assert_eq!(
            place(&one, &manifest(&["a", "c"], &[])).as_deref(),
            Some("controllers[1].routes[0].paths[1]")
        );
        assert_eq!(
            place(&one, &manifest(&["a", "b"], &["e"])).as_deref(),
            Some("events-used")
        );
        let mut named = one.clone();
        named.name = Some("n".to_owned());
        assert_eq!(place(&one, &named).as_deref(), Some("name"));
        let mut longer = one.clone();
        longer.controllers.pop();
        assert_eq!(place(&one, &longer).as_deref(), Some("controllers"));
    }
}
