//! What a configuration says, as the runtime takes it.

use pointwork::routing::TrailingSlash;
use pointwork::{AppOptions, ModuleLimits};

use crate::config::{self, Config, Module};

/// The options of an application with the modules of a configuration.
pub(crate) fn application(config: &Config) -> AppOptions {
    let mut options = AppOptions::default();
    if let Some(trailing_slash) = config.trailing_slash {
        options.router.table = options.router.table.trailing_slash(match trailing_slash {
            config::TrailingSlash::Distinct => TrailingSlash::Distinct,
            config::TrailingSlash::Match => TrailingSlash::Match,
        });
    }
    let limits = &config.limits;
    if let Some(deadline) = limits.request_deadline {
        options.router.deadline = Some(deadline);
    }
    if let Some(body) = limits.body {
        options.router.body_limit = body;
    }
    if let Some(queue) = limits.event_queue {
        options.bus.queue = queue;
    }
    if let Some(deadline) = limits.event_deadline {
        options.bus.deadline = deadline;
    }
    if let Some(payload) = limits.payload {
        options.bus.payload_limit = size(payload);
    }
    if let Some(memory) = limits.memory {
        options.limits.memory = size(memory);
    }
    if let Some(instances) = limits.instances {
        options.limits.instances = instances;
    }
    if let Some(in_flight) = limits.in_flight {
        options.limits.in_flight = in_flight;
    }
    if let Some(wait) = limits.queue_wait {
        options.limits.queue_wait = wait;
    }
    // The pool must have room for every module's instances at a time, and for the largest of them.
    let mut instances = 0_usize;
    options.max_memory = options.max_memory.max(options.limits.memory);
    for module in &config.modules {
        let limits = limits_of(module, &options.limits);
        let limits = limits.as_ref().unwrap_or(&options.limits);
        instances = instances.saturating_add(limits.instances);
        options.max_memory = options.max_memory.max(limits.memory);
    }
    let room = u32::try_from(instances).unwrap_or(u32::MAX);
    options.max_instances = options.max_instances.max(room);
    options
}

/// The limits of a module where they are its own in part at least; the rest is that of `all` modules.
pub(crate) fn limits_of(module: &Module, all: &ModuleLimits) -> Option<ModuleLimits> {
    let own = &module.limits;
    if *own == config::ModuleLimits::default() {
        return None;
    }
    let mut limits = all.clone();
    if let Some(memory) = own.memory {
        limits.memory = size(memory);
    }
    if let Some(instances) = own.instances {
        limits.instances = instances;
    }
    if let Some(in_flight) = own.in_flight {
        limits.in_flight = in_flight;
    }
    if let Some(wait) = own.queue_wait {
        limits.queue_wait = wait;
    }
    Some(limits)
}

/// A number of bytes; more than fits into memory is no limit.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("pointwork.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn module_has_its_own_limits_and_the_others_of_all() {
        let config = config(
            "[[module]]\npath = \"a.wasm\"\n\
             [[module]]\npath = \"b.wasm\"\ninstances = 1\nqueue-wait = \"5s\"\n\
             [limits]\nmemory = \"32MiB\"\nqueue-wait = \"2s\"",
        );
        let options = application(&config);
        assert!(limits_of(&config.modules[0], &options.limits).is_none());
        let own = limits_of(&config.modules[1], &options.limits).expect("it has some");
        assert_eq!((own.instances, own.queue_wait), (1, Duration::from_secs(5)));
        assert_eq!(own.memory, 32 * 1024 * 1024);
        assert_eq!(own.in_flight, ModuleLimits::default().in_flight);
        assert_eq!(options.limits.queue_wait, Duration::from_secs(2));
    }

    #[test]
    fn pool_has_room_for_the_largest_and_for_all_of_them() {
        let config = config(
            "[[module]]\npath = \"a.wasm\"\ninstances = 1500\n\
             [[module]]\npath = \"b.wasm\"\nmemory = \"2GiB\"\n\
             [limits]\ninstances = 10",
        );
        let options = application(&config);
        assert_eq!(options.max_instances, 1510);
        assert_eq!(options.max_memory, 2 * 1024 * 1024 * 1024);
        let usual = application(&Config::default());
        assert_eq!(usual.max_instances, AppOptions::default().max_instances);
    }

    #[test]
    fn limits_of_events_are_those_of_the_bus() {
        let config = config("[limits]\nevent-queue = 2\nevent-deadline = \"3s\"\npayload = 1024");
        let bus = application(&config).bus;
        assert_eq!(
            (bus.queue, bus.deadline, bus.payload_limit),
            (2, Duration::from_secs(3), 1024)
        );
    }
}
