//! The tables `[[module]]`, their grants aside.

use super::*;
use crate::config::limits::{Breaker, Trial};

fn module(keys: &str) -> String {
    format!("[[module]]\npath = \"a.wasm\"\n{keys}")
}

#[test]
fn module_has_a_target_and_limits_of_its_own() {
    let text = module(
        "build = \"store\"\ntarget = \"wasm32-wasip2\"\n\
         memory = \"256MiB\"\ninstances = 1\nin-flight = 8\nqueue-wait = \"5s\"",
    );
    let config = parse(&text).expect("all of it is known");
    let module = &config.modules[0];
    assert_eq!(module.target.as_deref(), Some("wasm32-wasip2"));
    assert_eq!(
        module.limits,
        ModuleLimits {
            memory: Some(256 * 1024 * 1024),
            instances: Some(1),
            in_flight: Some(8),
            queue_wait: Some(Duration::from_secs(5)),
            ..ModuleLimits::default()
        }
    );
    assert_eq!(config.limits, Limits::default(), "those of the others stay");
    assert_eq!(module.grant, Grant::default(), "nothing is granted by default");
}

#[test]
fn limit_of_a_module_is_checked_like_one_of_all() {
    assert_eq!(
        refusal(&module("instances = 0")),
        "invalid value: integer `0`, expected a whole number above 0 in shop/pointwork.toml:3:13"
    );
    assert_eq!(
        refusal(&module("memory = \"much\"")),
        "`much` is no size; expected a size, as in \"2MiB\", or a number of bytes in shop/pointwork.toml:3:10"
    );
    assert_eq!(
        refusal(&module("queue-wait = 5")),
        "invalid type: integer `5`, expected a time with its unit, as in \"30s\" or \"1m 30s\" \
         in shop/pointwork.toml:3:14"
    );
    assert_eq!(
        refusal(&module("in-flight = -1")),
        "invalid value: integer `-1`, expected a whole number above 0 in shop/pointwork.toml:3:13"
    );
}

#[test]
fn limit_that_only_all_modules_have_is_unknown_in_one() {
    assert!(refusal(&module("request-deadline = \"1s\"")).starts_with("unknown key `request-deadline` in"));
}

#[test]
fn target_of_a_module_that_is_not_built_is_refused() {
    assert_eq!(
        refusal(&module("target = \"wasm32-wasip2\"")),
        "`target` without `build` in shop/pointwork.toml:3:10 | \
         it is the target for which cargo builds the package that `build` names"
    );
}

#[test]
fn limits_of_events_are_checked() {
    assert_eq!(
        refusal("limits.event-queue = 0"),
        "invalid value: integer `0`, expected a whole number above 0 in shop/pointwork.toml:1:22"
    );
    assert_eq!(
        refusal("limits.payload = \"\""),
        "`` is no size; expected a size, as in \"2MiB\", or a number of bytes in shop/pointwork.toml:1:18"
    );
    assert_eq!(
        refusal("limits.event-deadline = \"0s\""),
        "`0s` is no limit; expected a time with its unit, as in \"30s\" or \"1m 30s\" in shop/pointwork.toml:1:25"
    );
}

#[test]
fn settings_of_a_module_are_read() {
    let text = module(
        "isolation = \"fresh\"\ndrain = \"1s\"\nhealth = \"/up\"\ndeadline = \"2s\"\nbody = \"1KiB\"\n\
         digest = \"sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\"\n\
         [module.breaker]\ncrashes = 5\npause = \"1s\"\n[module.trial]\ncalls = 10\ncrashes = 0",
    );
    let module = &parse(&text).expect("all of it is known").modules[0];
    assert_eq!(
        module.own,
        OwnLimits {
            deadline: Some(Duration::from_secs(2)),
            body: Some(1024),
            health: Some("/up".to_owned()),
            digest: Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned()),
        }
    );
    assert_eq!(
        (module.limits.isolation, module.limits.drain),
        (Some(Isolation::Fresh), Some(Duration::from_secs(1)))
    );
    assert_eq!(
        module.limits.breaker,
        Breaker {
            crashes: Some(5),
            pause: Some(Duration::from_secs(1)),
            longest: None
        }
    );
    assert_eq!(
        module.limits.trial,
        Trial {
            calls: Some(10),
            crashes: Some(0)
        }
    );
}

#[test]
fn setting_that_is_none_says_what_was_expected() {
    assert_eq!(
        refusal(&module("isolation = \"freshh\"")),
        "unknown value `freshh` in shop/pointwork.toml:3:13 | did you mean `fresh`?"
    );
    assert_eq!(
        refusal(&module("digest = \"abc\"")),
        "`abc` is no SHA-256; expected 64 digits in hex, as `pointwork check` prints them in shop/pointwork.toml:3:10"
    );
    assert_eq!(
        refusal(&module("health = \"health\"")),
        "`health` is no path of a request; expected one as in `/health` in shop/pointwork.toml:3:10"
    );
    assert_eq!(
        refusal(&module("log-lines = -1")),
        "invalid value: integer `-1`, expected a whole number from 0, of 32 bits at most in shop/pointwork.toml:3:13"
    );
    assert_eq!(
        refusal(&module("[module.breaker]\ncrash = 1")),
        "unknown key `crash` in shop/pointwork.toml:4:1 | did you mean `crashes`?"
    );
    assert_eq!(
        refusal(&module("[module.trial]\nlongest = \"1s\"")),
        "unknown key `longest` in shop/pointwork.toml:4:1 | expected `calls` or `crashes`"
    );
}
