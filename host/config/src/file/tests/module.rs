//! The tables `[[module]]`, their grants aside.

use super::*;

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
    let mut limits = pointwork::ModuleLimits::new();
    module.limits.apply(&mut limits);
    assert_eq!((limits.memory, limits.instances, limits.in_flight), (256 << 20, 1, 8));
    assert_eq!(limits.queue_wait, Duration::from_secs(5));
    assert_eq!(config.limits, LimitValues::default(), "those of the others stay");
    assert_eq!(module.grant, Grant::default(), "nothing is granted by default");
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
         cargo builds the package that `build` names for this target"
    );
}

#[test]
fn settings_of_a_module_are_read() {
    let text = module(
        "isolation = \"fresh\"\ndrain = \"1s\"\nhealth = \"/up\"\ndeadline = \"2s\"\nbody = \"1KiB\"\n\
         channels = [\"product\", \"db\"]\n\
         digest = \"sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD\"\n\
         [module.breaker]\ncrashes = 5\npause = \"1s\"\n[module.trial]\ncalls = 10\nshare = 7\ntime = \"1m\"",
    );
    let config = parse(&text).expect("all of it is known");
    let module = config.module_options(&config.modules[0]);
    let limits = module.limits.expect("it has limits of its own");
    assert_eq!(
        (limits.deadline, limits.body),
        (Some(Duration::from_secs(2)), Some(1024))
    );
    assert_eq!(module.health.as_deref(), Some("/up"));
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(module.digest.as_deref(), Some(digest));
    assert_eq!(module.channels, ["product", "db"]);
    assert_eq!(
        (module.isolation, module.drain),
        (Some(Isolation::Fresh), Duration::from_secs(1))
    );
    assert_eq!(
        (module.breaker.crashes, module.breaker.pause),
        (5, Duration::from_secs(1))
    );
    assert_eq!((module.trial.calls, module.trial.share), (10, 7));
}

#[test]
fn invalid_setting_says_what_was_expected() {
    assert_eq!(
        refusal(&module("isolation = \"freshh\"")),
        "unknown value `freshh` in shop/pointwork.toml:3:13 | did you mean `fresh`?"
    );
    assert_eq!(
        refusal(&module("digest = \"abc\"")),
        "`abc` is not a SHA-256; expected 64 hex digits, as `pointwork check` prints them in shop/pointwork.toml:3:10"
    );
    assert_eq!(
        refusal(&module("health = \"health\"")),
        "`health` is not a path; expected one such as `/health` in shop/pointwork.toml:3:10"
    );
    assert_eq!(
        refusal(&module("channels = [\"db:product\"]")),
        "`db:product` is not a channel; expected a name such as `product` in shop/pointwork.toml:3:12"
    );
    assert_eq!(
        refusal(&module("log-lines = -1")),
        "`-1` is invalid for `log-lines`: expected a whole number from 0 to 4294967295 in shop/pointwork.toml:3:13"
    );
    assert_eq!(
        refusal(&module("[module.breaker]\ncrash = 1")),
        "unknown key `crash` in shop/pointwork.toml:4:1 | did you mean `crashes`?"
    );
    assert_eq!(
        refusal(&module("[module.trial]\nlongest = \"1s\"")),
        "unknown key `longest` in shop/pointwork.toml:4:1 | expected `calls`, `share` or `time`"
    );
    assert_eq!(
        refusal(&module("[module.trial]\ncrashes = 3")),
        "`crashes` is no longer a key of `trial` in shop/pointwork.toml:4:1 | set `share`, the percentage points by which the share of \
         failed calls may exceed that of the version before, or turn the trial off by `calls = 0`"
    );
}
