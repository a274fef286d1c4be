//! The settings of a case as JSON, with the keys of `pointwork.toml`.

use pointwork_core::limits::{Amount, Limits as Table};
use pointwork_suite::languages::memory;
use pointwork_suite::subject::{Limits, ModuleSettings};
use serde_json::{Map, Value, json};

/// The settings of an application. The program of the tests compiles the components, and keeps one file of code for all programs of a
/// module; a cache would keep a file for each program.
pub(crate) fn of_app(limits: &Limits) -> Value {
    let mut told = Map::new();
    let mut tell = |key: &str, value: Value| drop(told.insert(key.to_owned(), value));
    // As in the suite's own applications: the pool reserves address space for each instance that it may hold.
    tell("max-instances", json!(limits.max_instances.unwrap_or(100)));
    // Some cases keep a request for ever.
    tell("shutdown-grace", json!("2s"));
    if let Some(deadline) = limits.deadline {
        tell("request-deadline", time(deadline));
        tell("probe", time(deadline));
    }
    if let Some(deadline) = limits.event_deadline {
        tell("event-deadline", time(deadline));
    }
    let numbers = [
        ("body", limits.body),
        ("stream-body", limits.stream_body),
        ("body-memory", limits.body_memory),
        ("memory", limits.memory.map(|number| (number + memory()) as u64)),
        ("instances", limits.instances.map(|number| number as u64)),
        ("event-queue", limits.event_queue.map(|number| number as u64)),
        ("payload", limits.payload.map(|number| number as u64)),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            tell(key, json!(number));
        }
    }
    let mut settings = json!({ "limits": told, "cache": { "enabled": false } });
    if let Some(size) = limits.component {
        settings["compile"] = json!({ "size": size });
    }
    if limits.ignore_trailing_slash {
        settings["trailing-slash"] = json!("match");
    }
    settings
}

/// The settings of a module.
pub(crate) fn of_module(settings: &ModuleSettings) -> Value {
    let ModuleSettings {
        options,
        grant,
        variables,
    } = settings;
    let mut told = changed(options);
    if let Some(mut limits) = options.limits.clone() {
        limits.memory += memory();
        told.extend(changed(&limits));
    }
    let mut tell = |key: &str, value: Value| drop(told.insert(key.to_owned(), value));
    tell("breaker", Value::Object(changed(&options.breaker)));
    tell("trial", Value::Object(changed(&options.trial)));
    if let Some(isolation) = options.isolation {
        tell("isolation", json!(format!("{isolation:?}").to_lowercase()));
    }
    if let Some(health) = &options.health {
        tell("health", json!(health));
    }
    if let Some(digest) = &options.digest {
        tell("digest", json!(digest));
    }
    if !options.channels.is_empty() {
        tell("channels", json!(options.channels));
    }
    if !grant.is_null() {
        tell("grant", grant.clone());
    }
    if !variables.is_null() {
        tell("variables", variables.clone());
    }
    Value::Object(told)
}

/// The limits that are not the usual ones.
fn changed<T: Table>(limits: &T) -> Map<String, Value> {
    let own = T::TABLE.iter().filter_map(|limit| {
        let amount = limits.get(limit.name).filter(|amount| Some(*amount) != limit.default)?;
        let value = match amount {
            Amount::Bytes(number) | Amount::Count(number) => json!(number),
            Amount::Time(duration) => time(duration),
        };
        Some((limit.name.to_owned(), value))
    });
    own.collect()
}

fn time(duration: std::time::Duration) -> Value {
    json!(format!("{}us", duration.as_micros()))
}
