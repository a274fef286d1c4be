//! The tables `[admin]`, `[state]`, `[cache]` and `[compile]`.

use super::*;

#[test]
fn admin_endpoint_names_one_place() {
    let hint = "expected exactly one of `socket` and `listen`";
    for keys in ["", "socket = \"a\"\nlisten = \"127.0.0.1:1\"", "token-file = \"a\""] {
        let refusal = refusal(&format!("[admin]\n{keys}"));
        assert!(
            refusal.starts_with("the admin endpoint needs one place in shop/pointwork.toml:1:1"),
            "{refusal}"
        );
        assert!(refusal.ends_with(hint), "{refusal}");
    }
}

#[test]
fn admin_endpoint_on_an_address_needs_a_token() {
    assert_eq!(
        refusal("[admin]\nlisten = \"127.0.0.1:9090\""),
        "an admin endpoint on an address needs a token in shop/pointwork.toml:2:10 | \
         name the file that contains it: token-file = \"…\"; a `socket` needs no token"
    );
    let config = parse("[admin]\nlisten = \"127.0.0.1:9090\"\ntoken-file = \"t\"").expect("it has one");
    let admin = config.admin.expect("there is one");
    assert_eq!(admin.token_file.as_deref(), Some(Path::new("shop/t")));
    assert_eq!(admin.address.to_string(), "127.0.0.1:9090");
}

#[test]
fn missing_tables_have_their_defaults() {
    let config = parse("").expect("nothing is required");
    assert_eq!((config.watch, config.admin, config.state), (false, None, None));
    assert_eq!(config.cache, Cache::default());
    assert!(config.cache.enabled);
    assert_eq!(config.limits, LimitValues::default());
}

#[test]
fn unknown_keys_and_bad_values_name_the_place() {
    assert_eq!(
        refusal("[state]\ndirectry = \"a\""),
        "unknown key `directry` in shop/pointwork.toml:2:1 | did you mean `directory`?"
    );
    assert_eq!(refusal("[state]"), "missing key `directory` in shop/pointwork.toml:1:1");
    assert_eq!(
        refusal("[cache]\nenable = true"),
        "unknown key `enable` in shop/pointwork.toml:2:1 | did you mean `enabled`?"
    );
    assert_eq!(
        refusal("[compile]\nat-once = 0"),
        "`0` is invalid for `at-once`: expected a whole number from 1 in shop/pointwork.toml:2:11"
    );
    assert_eq!(
        refusal("[compile]\nat-onc = 1"),
        "unknown key `at-onc` in shop/pointwork.toml:2:1 | did you mean `at-once`?"
    );
}
