//! The rules of a manifest beyond those of routes, which the core validates, and of channels, which the bus validates.

use pointwork_core::routing::MAX_NAME_BYTES;
use pointwork_core::{BodyMode, is_unprintable, one_line};
use serde::de::IgnoredAny;

use crate::guest::bindings::manifest::{Channel, Controller, Manifest, Route};
use crate::guest::bindings::types::Property;

/// The largest number of controllers, routes, channels, listeners and used events, each.
const MAX_DECLARED: usize = 10_000;

/// The keys of metadata whose values are JSON.
const SCHEMAS: [&str; 2] = ["request-schema", "response-schema"];

/// # Errors
/// Names the place and the problem of the first rule that is broken.
pub(super) fn check(module: &str, manifest: &Manifest) -> Result<(), String> {
    let Manifest {
        controllers,
        channels,
        events_used,
        ..
    } = manifest;
    let routes = controllers.iter().map(|controller| controller.routes.len()).sum();
    let listeners = channels.iter().map(|channel| channel.listeners.len()).sum();
    for (declared, count) in [
        ("controllers", controllers.len()),
        ("routes", routes),
        ("channels", channels.len()),
        ("listeners", listeners),
        ("used events", events_used.len()),
    ] {
        if count > MAX_DECLARED {
            return Err(format!(
                "module `{module}` declares {count} {declared}, expected at most {MAX_DECLARED}"
            ));
        }
    }
    let of_module = || format!("module `{module}`");
    for (field, text) in [
        ("name", manifest.name.as_deref().unwrap_or_default()),
        ("version", manifest.version.as_deref().unwrap_or_default()),
        ("sdk", &manifest.sdk),
        ("language", &manifest.language),
    ] {
        check_line(text).map_err(|problem| format!("the {field} of {} {problem}", of_module()))?;
    }
    for event in events_used {
        let problem = match check_line(event) {
            Ok(()) if event.is_empty() => "is empty".to_owned(),
            Ok(()) => continue,
            Err(problem) => problem,
        };
        return Err(format!(
            "a name in the used events of {} {problem}; expected `channel:event`, or the event's name alone",
            of_module()
        ));
    }
    check_schemas(&manifest.metadata, of_module)?;
    controllers
        .iter()
        .try_for_each(|controller| check_controller(module, controller))?;
    channels.iter().try_for_each(|channel| check_channel(module, channel))
}

fn check_controller(module: &str, controller: &Controller) -> Result<(), String> {
    let of_controller = || format!("controller `{}` of module `{module}`", one_line(&controller.name, 128));
    check_schemas(&controller.metadata, of_controller)?;
    for route in &controller.routes {
        check_schemas(&route.metadata, || of_handler(module, controller, route))?;
    }
    Ok(())
}

fn check_channel(module: &str, channel: &Channel) -> Result<(), String> {
    let of_channel = || format!("channel `{}` of module `{module}`", one_line(&channel.name, 128));
    check_length(&channel.name).map_err(|problem| format!("the name of a channel of module `{module}` {problem}"))?;
    check_schemas(&channel.metadata, of_channel)?;
    for listener in &channel.listeners {
        check_length(&listener.event)
            .map_err(|problem| format!("the event of a listener of {} {problem}", of_channel()))?;
        let of_listener = || format!("listener `{}` of {}", one_line(&listener.name, 128), of_channel());
        check_line(&listener.name)
            .map_err(|problem| format!("the name of a listener of {} {problem}", of_channel()))?;
        check_schemas(&listener.metadata, of_listener)?;
    }
    Ok(())
}

fn of_handler(module: &str, controller: &Controller, route: &Route) -> String {
    format!(
        "handler `{}` of controller `{}` of module `{module}`",
        one_line(&route.name, 128),
        one_line(&controller.name, 128)
    )
}

/// Checks a text that stands in lines of the log and of the command.
fn check_line(text: &str) -> Result<(), String> {
    check_length(text)?;
    match text.char_indices().find(|(_, character)| is_unprintable(*character)) {
        Some((position, found)) => Err(format!(
            "has `{}` at byte {position}, expected a printable character",
            found.escape_unicode()
        )),
        None => Ok(()),
    }
}

fn check_length(text: &str) -> Result<(), String> {
    if text.len() > MAX_NAME_BYTES {
        return Err(format!("has {} bytes, expected at most {MAX_NAME_BYTES}", text.len()));
    }
    Ok(())
}

fn check_schemas(metadata: &[Property], of: impl Fn() -> String) -> Result<(), String> {
    for Property { name, value } in metadata {
        if SCHEMAS.contains(&name.as_str())
            && let Err(error) = serde_json::from_str::<IgnoredAny>(value)
        {
            return Err(format!("the metadata `{name}` of {} is not JSON: {error}", of()));
        }
    }
    Ok(())
}

/// The body mode of each route, in the order in which the core validates them: a route for each path.
///
/// # Errors
/// Names the place and the word of an unknown mode.
pub(super) fn body_modes(module: &str, manifest: &Manifest) -> Result<Vec<BodyMode>, String> {
    let mut modes = Vec::new();
    for controller in &manifest.controllers {
        for route in &controller.routes {
            let mode = match route.body.as_str() {
                "none" => BodyMode::None,
                "whole" => BodyMode::Whole,
                "stream" => BodyMode::Stream,
                word => {
                    let word: String = word.chars().take(MAX_NAME_BYTES).collect();
                    return Err(format!(
                        "{} takes its body as `{}`, expected `none`, `whole` or `stream`",
                        of_handler(module, controller, route),
                        word.escape_debug()
                    ));
                }
            };
            modes.extend(std::iter::repeat_n(mode, route.paths.len().max(1)));
        }
    }
    Ok(modes)
}
