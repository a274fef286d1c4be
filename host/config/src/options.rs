//! The options of the runtime and of the server that a configuration sets.

use pointwork::{AppOptions, ModuleLimits, ModuleOptions};
use pointwork_core::ServerOptions;

use crate::error::Result;
use crate::file::{Config, LimitValues, Module};
use crate::grants::{self, Missing};

impl Config {
    /// The options of an application with the modules of the configuration, without what [`open_cache`](Self::open_cache)
    /// and [`open_state`](Self::open_state) open, and without a compile worker.
    ///
    /// The pool has room for the instances and the memory of these modules. A program that loads others with larger limits
    /// raises [`max_instances`](field@AppOptions::max_instances) and [`max_memory`](field@AppOptions::max_memory).
    pub fn app_options(&self) -> AppOptions {
        let mut options = AppOptions::new();
        options.router.table = options.router.table.trailing_slash(self.trailing_slash);
        options.router.trusted_proxies = self.trusted_proxies.iter().map(|network| network.0).collect();
        options.router.show_crashes = self.development;
        options.router.access_log = self.access_log;
        options.perf_map = self.perf_map;
        self.limits.apply(&mut options);
        self.limits.apply(&mut options.router);
        self.limits.apply(&mut options.bus);
        self.limits.apply(&mut options.limits);
        self.limits.apply(&mut options.compile);
        options.drain = self.server_options().shutdown_grace;
        // The pool has room for the instances of all modules together, and for the largest memory.
        let mut instances = 0_usize;
        options.max_memory = options.max_memory.max(options.limits.memory);
        for module in &self.modules {
            let limits = limits_of(module, &options.limits);
            instances = instances.saturating_add(limits.instances);
            options.max_memory = options.max_memory.max(limits.memory);
        }
        let room = u32::try_from(instances).unwrap_or(u32::MAX);
        options.max_instances = options.max_instances.max(room);
        options
    }

    /// The options of a server or an adapter.
    pub fn server_options(&self) -> ServerOptions {
        let mut options = ServerOptions::new();
        self.limits.apply(&mut options);
        options
    }

    /// The options of a module that has no settings of its own.
    pub fn any_module_options(&self) -> ModuleOptions {
        let mut options = ModuleOptions::new();
        apply(&mut options, &self.limits);
        options.isolation = self.isolation;
        options
    }

    /// The options of a module of the configuration, without its [grants](Self::grants).
    pub fn module_options(&self, module: &Module) -> ModuleOptions {
        let mut all = ModuleLimits::new();
        self.limits.apply(&mut all);
        let mut options = self.any_module_options();
        apply(&mut options, &module.limits);
        options.isolation = module.isolation.or(options.isolation);
        options.limits = Some(limits_of(module, &all)).filter(|limits| *limits != all);
        if self.development {
            // A crash is to be seen, at each request again.
            options.breaker.crashes = 0;
            options.trial.calls = 0;
        }
        options.health = module.health.as_ref().map(|health| health.0.clone());
        options.digest = module.digest.as_ref().map(|digest| digest.0.clone());
        options.variables = module.variables.variables();
        options.channels = module.channels.iter().map(|channel| channel.0.clone()).collect();
        options
    }

    /// The options of a module whose settings a program gives, with its grants: a JSON object with the keys of `[[module]]`,
    /// as in `{ "memory": "64MiB", "health": "/up", "variables": { "TOKEN": { "env": "SHOP_TOKEN" } } }`. A key whose value is `null` counts as
    /// absent. The keys `name`, `path`, `build` and `target` are unknown.
    ///
    /// The configuration has the limits and the isolation of all modules, which hold where the settings have none. A granted
    /// directory with `read-write` is created. It blocks.
    ///
    /// # Errors
    ///
    /// The text is no JSON object, a key is unknown, or a value is invalid; a directory is missing. The error names the module, and the key from the root on, as in `grant.directories[0].host`.
    pub fn module_from_json(&self, name: &str, settings: &str) -> Result<ModuleOptions> {
        let (module, source) = Module::from_json(name, settings)?;
        // Nothing takes the place of a directory that is created.
        let (grants, _) = grants::resolve(&module, &source, Missing::Create)?;
        Ok(self.module_options(&module).grants(grants))
    }
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
        let options = config.app_options();
        assert_eq!(options.max_instances, 1510);
        assert_eq!(options.max_memory, 2 * 1024 * 1024 * 1024);
        let usual = Config::default().app_options();
        assert_eq!(usual.max_instances, AppOptions::new().max_instances);
    }

    #[test]
    fn settings_of_a_module_replace_those_of_all() {
        let config = config(
            "[[module]]\npath = \"a.wasm\"\n\
             [[module]]\npath = \"b.wasm\"\nisolation = \"fresh\"\ndrain = \"1s\"\nhealth = \"/up\"\nbody = 10\n\
             breaker.crashes = 0\ntrial = { calls = 5 }\n\
             [limits]\nisolation = \"exclusive\"\ndrain = \"2s\"\nlog-lines = 0\n\
             breaker = { crashes = 7, pause = \"3s\" }\ntrial.share = 9",
        );
        let all = config.app_options().limits;
        assert_eq!(all.log_lines, 0);
        let a = config.module_options(&config.modules[0]);
        assert!(a.limits.is_none(), "the same as all");
        assert_eq!(
            (a.isolation, a.drain),
            (Some(Isolation::Exclusive), Duration::from_secs(2))
        );
        assert_eq!((a.breaker.crashes, a.trial.share), (7, 9));
        assert_eq!(
            (a.drain, a.breaker),
            (config.any_module_options().drain, config.any_module_options().breaker)
        );
        let b = config.module_options(&config.modules[1]);
        assert_eq!((b.isolation, b.drain), (Some(Isolation::Fresh), Duration::from_secs(1)));
        assert_eq!((b.breaker.crashes, b.breaker.pause), (0, Duration::from_secs(3)));
        assert_eq!((b.trial.calls, b.trial.share), (5, 9));
        assert_eq!(b.health.as_deref(), Some("/up"));
        let limits = b.limits.expect("its body is its own");
        assert_eq!((limits.body, limits.log_lines), (Some(10), 0));
    }
}
