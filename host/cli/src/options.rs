//! The options of the runtime and of the server that a configuration sets.

use pointwork::routing::TrailingSlash;
use pointwork::{AppOptions, ModuleLimits, ModuleOptions};
use pointwork_core::ServerOptions;

use crate::config::{self, Config, LimitValues, Module};

/// The options of an application with the modules of a configuration, without cache, state directory and compile worker:
/// see [`keep`](crate::keep).
pub(crate) fn application(config: &Config) -> AppOptions {
    let mut options = AppOptions::new();
    if let Some(trailing_slash) = config.trailing_slash {
        options.router.table = options.router.table.trailing_slash(match trailing_slash {
            config::TrailingSlash::Distinct => TrailingSlash::Distinct,
            config::TrailingSlash::Match => TrailingSlash::Match,
        });
    }
    options.router.trusted_proxies = config.trusted_proxies.iter().map(|network| network.0).collect();
    options.router.show_crashes = config.development;
    options.router.access_log = config.access_log;
    config.limits.apply(&mut options);
    config.limits.apply(&mut options.router);
    config.limits.apply(&mut options.bus);
    config.limits.apply(&mut options.limits);
    config.limits.apply(&mut options.compile);
    options.drain = server(config).shutdown_grace;
    // The pool has room for the instances of all modules together, and for the largest memory.
    let mut instances = 0_usize;
    options.max_memory = options.max_memory.max(options.limits.memory);
    for module in &config.modules {
        let limits = limits_of(module, &options.limits);
        instances = instances.saturating_add(limits.instances);
        options.max_memory = options.max_memory.max(limits.memory);
    }
    let room = u32::try_from(instances).unwrap_or(u32::MAX);
    options.max_instances = options.max_instances.max(room);
    options
}

pub(crate) fn server(config: &Config) -> ServerOptions {
    let mut options = ServerOptions::new();
    config.limits.apply(&mut options);
    options
}

/// The options of a module that the configuration does not name.
pub(crate) fn of_any(config: &Config) -> ModuleOptions {
    let mut options = ModuleOptions::new();
    apply(&mut options, &config.limits);
    options.isolation = config.isolation;
    options
}

/// The options of a module, without its grants; `all` are the limits of all modules.
pub(crate) fn of_module(module: &Module, all: &ModuleLimits, config: &Config) -> ModuleOptions {
    let mut options = of_any(config);
    apply(&mut options, &module.limits);
    options.isolation = module.isolation.or(options.isolation);
    options.limits = Some(limits_of(module, all)).filter(|limits| limits != all);
    if config.development {
        // A crash is to be seen, at each request again.
        options.breaker.crashes = 0;
        options.trial.crashes = 0;
    }
    options.health = module.health.as_ref().map(|health| health.0.clone());
    options.digest = module.digest.as_ref().map(|digest| digest.0.clone());
    options
}

/// The limits of a module: its own, and those of `all` modules for the rest.
fn limits_of(module: &Module, all: &ModuleLimits) -> ModuleLimits {
    let mut limits = all.clone();
    module.limits.apply(&mut limits);
    limits
}

fn apply(options: &mut ModuleOptions, limits: &LimitValues) {
    limits.apply(options);
    limits.apply(&mut options.breaker);
    limits.apply(&mut options.trial);
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use pointwork::Isolation;

    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("pointwork.toml")).unwrap_or_else(|error| panic!("{error}"))
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
        assert_eq!(usual.max_instances, AppOptions::new().max_instances);
    }

    #[test]
    fn settings_of_a_module_replace_those_of_all() {
        let config = config(
            "[[module]]\npath = \"a.wasm\"\n\
             [[module]]\npath = \"b.wasm\"\nisolation = \"fresh\"\ndrain = \"1s\"\nhealth = \"/up\"\nbody = 10\n\
             breaker.crashes = 0\ntrial = { calls = 5 }\n\
             [limits]\nisolation = \"exclusive\"\ndrain = \"2s\"\nlog-lines = 0\n\
             breaker = { crashes = 7, pause = \"3s\" }\ntrial.crashes = 9",
        );
        let all = application(&config).limits;
        assert_eq!(all.log_lines, 0);
        let a = of_module(&config.modules[0], &all, &config);
        assert!(a.limits.is_none(), "the same as all");
        assert_eq!(
            (a.isolation, a.drain),
            (Some(Isolation::Exclusive), Duration::from_secs(2))
        );
        assert_eq!((a.breaker.crashes, a.trial.crashes), (7, 9));
        assert_eq!((a.drain, a.breaker), (of_any(&config).drain, of_any(&config).breaker));
        let b = of_module(&config.modules[1], &all, &config);
        assert_eq!((b.isolation, b.drain), (Some(Isolation::Fresh), Duration::from_secs(1)));
        assert_eq!((b.breaker.crashes, b.breaker.pause), (0, Duration::from_secs(3)));
        assert_eq!((b.trial.calls, b.trial.crashes), (5, 9));
        assert_eq!(b.health.as_deref(), Some("/up"));
        let limits = b.limits.expect("its body is its own");
        assert_eq!((limits.body, limits.log_lines), (Some(10), 0));
    }
}
