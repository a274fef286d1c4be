//! The settings that a program gives as JSON.

use std::time::Duration;

use pointwork::{Access, Directory, Grants, Isolation, Variables};

use super::*;
use crate::suggest;

/// The error as the program sees it: the sentence, and the hint behind a bar.
fn told<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.expect_err("the settings are wrong");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

fn refused(settings: &str) -> String {
    told(Config::from_json(settings))
}

fn refused_module(settings: &str) -> String {
    told(Config::default().module_from_json("shop", settings))
}

#[test]
fn application_has_the_keys_of_the_file() {
    let file = r#"
        prefix = "/api"
        trailing-slash = "match"
        access-log = true
        trusted-proxies = ["10.0.0.0/8"]
        [limits]
        memory = "64MiB"
        instances = 3
        queue-wait = "1s"
        isolation = "fresh"
        breaker = { crashes = 5 }
        [compile]
        time = "20s"
        [state]
        directory = "/var/lib/shop"
        [cache]
        enabled = false
        [channels.response]
        driver = "response"
        on.send.status = 202
    "#;
    let json = r#"{
        "prefix": "/api", "trailing-slash": "match", "access-log": true, "trusted-proxies": ["10.0.0.0/8"],
        "limits": {
            "memory": "64MiB", "instances": 3, "queue-wait": "1s", "isolation": "fresh", "breaker": { "crashes": 5 }
        },
        "compile": { "time": "20s" }, "state": { "directory": "/var/lib/shop" }, "cache": { "enabled": false },
        "channels": { "response": { "driver": "response", "on": { "send": { "status": 202 } } } }
    }"#;
    let settings = Config::from_json(json).expect("all of it is known");
    let mut file = parse(file).expect("all of it is known");
    file.source = settings.source.clone();
    assert_eq!(settings, file);
    assert_eq!(settings.app_options().limits.instances, 3);
    assert_eq!(settings.any_module_options().isolation, Some(Isolation::Fresh));
    assert_eq!(settings.file(), Path::new(""));
}

#[test]
fn keys_are_those_of_the_file_without_those_of_the_command() {
    let error = parse("zzz = 1").expect_err("no such key");
    let of_the_file = error.hint().expect("it lists them").split('`').skip(1).step_by(2);
    let of_the_command = ["listen", "adapter", "watch", "admin", "module"];
    let mut keys: Vec<_> = of_the_file.filter(|key| !of_the_command.contains(key)).collect();
    keys.sort_unstable();
    let mut known = super::super::read::OF_THE_APPLICATION.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known);
    for key in of_the_command {
        let refusal = refused(&format!("{{ \"{key}\": true }}"));
        assert!(
            refusal.starts_with(&format!("unknown key `{key}` in `{key}` of the settings | ")),
            "{refusal}"
        );
    }
}

#[test]
fn key_that_is_null_is_absent() {
    let read = |settings| Config::from_json(settings).expect("nothing is set");
    let with_nulls = read(r#"{ "prefix": null, "limits": { "memory": null }, "cache": null }"#);
    let source = with_nulls.source.clone();
    assert_eq!(with_nulls, Config { source, ..read("{}") });
}

#[test]
fn error_names_the_key_the_value_and_what_was_expected() {
    assert_eq!(
        refused(r#"{ "limits": { "body": "2MiB", "queue-wait": 30 } }"#),
        "`30` is invalid for `queue-wait`: expected a time above 0 and up to 100 years with its unit, as in \"30s\" or \"1m 30s\" \
         in `limits.queue-wait` of the settings"
    );
    let refusal = refused(r#"{ "limits": { "breaker": { "crashes": -1 } } }"#);
    assert!(
        refusal.starts_with("`-1` is invalid for `crashes`: expected a whole number from 0 "),
        "{refusal}"
    );
    assert!(
        refusal.ends_with(" in `limits.breaker.crashes` of the settings"),
        "{refusal}"
    );
    assert_eq!(
        refused(r#"{ "limits": { "memroy": "64MiB" } }"#),
        "unknown key `memroy` in `limits.memroy` of the settings | did you mean `memory`?"
    );
    assert_eq!(
        refused(r#"{ "prefx": "/api" }"#),
        "unknown key `prefx` in `prefx` of the settings | did you mean `prefix`?"
    );
    assert_eq!(
        refused(r#"{ "trailing-slash": "mach" }"#),
        "unknown value `mach` in `trailing-slash` of the settings | did you mean `match`?"
    );
    assert_eq!(
        refused(r#"{ "prefix": 5 }"#),
        "invalid type: integer, expected a string in `prefix` of the settings"
    );
    assert_eq!(
        refused(r#"{ "state": {} }"#),
        "missing key `directory` in `state` of the settings"
    );
    assert_eq!(
        refused(r#"{ "trusted-proxies": ["10.0.0.0/8", "10.0.0.0/33"] }"#),
        "`10.0.0.0/33` is not a network; expected one such as `10.0.0.0/8`, `fd00::/8` or `192.0.2.1` \
         in `trusted-proxies` of the settings"
    );
    assert_eq!(
        refused("{ \"channels\": { \"a:b\\n\": {} } }").split(" | ").next(),
        Some("`a:b\\n` cannot be the name of a channel in `channels.\"a:b\\n\"` of the settings")
    );
}

#[test]
fn text_that_is_no_object_is_refused() {
    assert_eq!(refused("[]"), "not a JSON object: a list in the settings");
    assert_eq!(
        refused("{ \"prefix\" }"),
        "invalid JSON: expected `:` at line 1 column 12 in the settings"
    );
    assert_eq!(
        refused(r#"{ "trusted-proxies": [null] }"#),
        "the list `trusted-proxies` contains `null` in the settings"
    );
    let deep = format!("{{ \"prefix\": {}{} }}", "[".repeat(100), "]".repeat(100));
    assert!(refused(&deep).ends_with("the settings"));
    for number in ["1e400", "18446744073709551616", "1.5", "true", "{}"] {
        let refusal = refused(&format!("{{ \"limits\": {{ \"instances\": {number} }} }}"));
        assert!(refusal.contains("the settings"), "{refusal}");
    }
}

#[test]
fn module_has_the_keys_of_the_file_and_what_it_lacks_from_the_application() {
    let config = Config::from_json(r#"{ "limits": { "memory": "32MiB", "drain": "2s", "isolation": "exclusive" } }"#);
    let config = config.expect("three settings");
    let settings = r#"{
        "instances": 2, "trial": { "calls": 7 }, "health": "/up", "isolation": null,
        "variables": { "A": "a", "B": { "env": "HOME" }, "C": { "file": "token" }, "D": null },
        "grant": {
            "clocks": true, "environment": true,
            "directories": [{ "host": "src", "guest": "/here" }], "http": ["api.example.com"]
        }
    }"#;
    let options = config.module_from_json("shop", settings).expect("all of it is known");
    let limits = options.limits.expect("two instances");
    assert_eq!((limits.instances, limits.memory), (2, 32 << 20));
    assert_eq!((options.trial.calls, options.drain), (7, Duration::from_secs(2)));
    assert_eq!(options.isolation, Some(Isolation::Exclusive));
    assert_eq!(options.health.as_deref(), Some("/up"));
    let grants = Grants::new()
        .clocks()
        .environment()
        .directories([Directory::new("src", "/here", Access::ReadOnly)])
        .http(["api.example.com".to_owned()]);
    assert_eq!(options.grants, grants, "paths are relative to the current directory");
    let variables = Variables::new().value("A", "a").env("B", "HOME").file("C", "token");
    assert_eq!(options.variables, variables);
    let none = config.module_from_json("shop", "{}").expect("nothing is required");
    assert_eq!(none.limits, None);
}

#[test]
fn error_in_the_settings_of_a_module_names_it() {
    assert_eq!(
        refused_module(r#"{ "memory": "much" }"#),
        "`\"much\"` is invalid for `memory`: expected a size, as in \"2MiB\", or a number of bytes in `memory` of the \
         settings of module `shop`"
    );
    assert_eq!(
        refused_module(r#"{ "grant": { "sockets": ["a:1", "b"] } }"#)
            .split(';')
            .next(),
        Some("`b` has no port")
    );
    assert!(
        refused_module(r#"{ "grant": { "sockets": ["a:1", "b"] } }"#)
            .ends_with(" in `grant.sockets[1]` of the settings of module `shop`")
    );
    for key in ["name", "path", "build", "target"] {
        let refusal = refused_module(&format!("{{ \"{key}\": \"shop\" }}"));
        let start = format!("unknown key `{key}` in `{key}` of the settings of module `shop` | ");
        assert!(refusal.starts_with(&start), "{refusal}");
    }
    let keys: Vec<_> = super::super::limits::LimitTable::Module.keys();
    assert!(refused_module(r#"{ "zzz": 1 }"#).contains(&suggest::list(keys, "or")));
}

#[test]
fn grant_that_the_host_lacks_is_named_by_its_key() {
    let missing = |grant: &str| {
        let settings = format!("{{ \"grant\": {grant} }}");
        let error = Config::default()
            .module_from_json("shop", &settings)
            .expect_err("it is missing");
        assert_eq!(error.kind(), ErrorKind::Host);
        error.to_string()
    };
    assert_eq!(
        missing(r#"{ "directories": [{ "host": "no/such/folder", "guest": "/data" }] }"#),
        "the directory `no/such/folder`, granted to module `shop` in `grant.directories[0].host` of the settings of module \
         `shop`, does not exist"
    );
}
