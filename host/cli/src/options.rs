//! What a configuration says, as the runtime takes it.

use pointwork::routing::TrailingSlash;
use pointwork::{AppOptions, Breaker, CompileOptions, Isolation, ModuleLimits, ModuleOptions, Trial};

use crate::config::{self, Config, Module};

/// The options of an application with the modules of a configuration. What is kept on disk and what compiles is the
/// command's to say: see [`keep`](crate::keep).
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
    set(&mut options.router.body_limit, limits.body);
    set(&mut options.bus.queue, limits.event_queue);
    set(&mut options.bus.deadline, limits.event_deadline);
    set(&mut options.bus.payload_limit, limits.payload.map(size));
    apply(&mut options.limits, &limits.modules);
    apply_compile(&mut options.compile, &config.compile);
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

/// The options of a module of which the configuration says nothing: what it says of all.
pub(crate) fn of_any(config: &Config) -> ModuleOptions {
    let mut options = ModuleOptions::new();
    apply_options(&mut options, &config.limits.modules);
    options
}

/// The options of a module, its grants aside; `all` are the limits of every module.
pub(crate) fn of_module(module: &Module, all: &ModuleLimits, config: &Config) -> ModuleOptions {
    let mut options = of_any(config);
    apply_options(&mut options, &module.limits);
    options.limits = limits_of(module, all);
    options.health.clone_from(&module.own.health);
    options.digest.clone_from(&module.own.digest);
    options
}

/// The limits of a module where they are its own in part at least; the rest is that of `all` modules.
fn limits_of(module: &Module, all: &ModuleLimits) -> Option<ModuleLimits> {
    let mut limits = all.clone();
    apply(&mut limits, &module.limits);
    limits.deadline = module.own.deadline.or(limits.deadline);
    limits.body = module.own.body.or(limits.body);
    (limits != *all).then_some(limits)
}

/// Puts what is said of a module's limits into the place of what was there.
fn apply(limits: &mut ModuleLimits, said: &config::ModuleLimits) {
    let config::ModuleLimits {
        memory,
        table_elements,
        stack,
        instances,
        in_flight,
        queue,
        queue_wait,
        reuse,
        idle,
        cpu,
        headers,
        log_lines,
        emits,
        probe,
        // These are no limits to the runtime: see `apply_options`.
        drain: _,
        isolation: _,
        breaker: _,
        trial: _,
    } = said;
    set(&mut limits.memory, memory.map(size));
    set(&mut limits.table_elements, *table_elements);
    set(&mut limits.stack, stack.map(size));
    set(&mut limits.instances, *instances);
    set(&mut limits.in_flight, *in_flight);
    set(&mut limits.queue, queue.map(size));
    set(&mut limits.queue_wait, *queue_wait);
    set(
        &mut limits.reuse,
        reuse.map(|calls| u64::try_from(calls).unwrap_or(u64::MAX)),
    );
    set(&mut limits.idle, *idle);
    set(&mut limits.cpu, *cpu);
    set(&mut limits.headers, headers.map(size));
    set(&mut limits.log_lines, *log_lines);
    set(&mut limits.emits, *emits);
    set(&mut limits.probe, *probe);
}

fn apply_options(options: &mut ModuleOptions, said: &config::ModuleLimits) {
    set(&mut options.drain, said.drain);
    if let Some(isolation) = said.isolation {
        options.isolation = Some(match isolation {
            config::Isolation::Shared => Isolation::Shared,
            config::Isolation::Exclusive => Isolation::Exclusive,
            config::Isolation::Fresh => Isolation::Fresh,
        });
    }
    let Breaker {
        crashes,
        pause,
        longest,
        ..
    } = &mut options.breaker;
    set(crashes, said.breaker.crashes);
    set(pause, said.breaker.pause);
    set(longest, said.breaker.longest);
    let Trial { calls, crashes, .. } = &mut options.trial;
    set(calls, said.trial.calls);
    set(crashes, said.trial.crashes);
}

fn apply_compile(options: &mut CompileOptions, said: &config::Compile) {
    set(&mut options.size, said.size.map(size));
    set(&mut options.time, said.time);
    set(&mut options.memory, said.memory);
    set(&mut options.at_once, said.at_once);
}

fn set<T>(value: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *value = said;
    }
}

/// A number of bytes or calls; more than fits into memory is no limit.
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

    #[test]
    fn settings_of_a_module_stand_in_place_of_those_of_all() {
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

    #[test]
    fn every_limit_of_all_reaches_the_runtime() {
        let config = config(
            "[limits]\nmemory = 1\ntable-elements = 2\nstack = 3\ninstances = 4\nin-flight = 5\nqueue = 6\n\
             queue-wait = \"7s\"\nreuse = 8\nidle = \"9s\"\ncpu = \"10s\"\nheaders = 11\nlog-lines = 12\nemits = 13\n\
             probe = \"14s\"\n[compile]\nsize = 1\ntime = \"2s\"\nmemory = 3\nat-once = 4",
        );
        let AppOptions { limits, compile, .. } = application(&config);
        let counts = [
            limits.memory,
            limits.table_elements,
            limits.stack,
            limits.instances,
            limits.in_flight,
            limits.queue,
        ];
        assert_eq!(counts, [1, 2, 3, 4, 5, 6]);
        let times = [limits.queue_wait, limits.idle, limits.cpu, limits.probe];
        assert_eq!(times, [7, 9, 10, 14].map(Duration::from_secs));
        assert_eq!(
            (limits.reuse, limits.headers, limits.log_lines, limits.emits),
            (8, 11, 12, 13)
        );
        assert_eq!(
            (compile.size, compile.time, compile.memory, compile.at_once),
            (1, Duration::from_secs(2), 3, 4)
        );
    }
}
