//! The tables `[module.variables]`.

use pointwork::Variables;

use super::*;

/// A configuration whose module has these variables; the first key stands in line 4.
fn with(keys: &str) -> String {
    format!("[[module]]\npath = \"store.wasm\"\n[module.variables]\n{keys}")
}

#[test]
fn values_and_their_places_are_read() {
    let text = with(
        "CURRENCY = \"EUR\"\nTOKEN = { env = \"SHOP_TOKEN\" }\nKEY.file = \"key.pem\"\nCA = { file = \"/etc/ca.pem\" }",
    );
    let config = parse(&text).expect("all of it is known");
    let expected = Variables::new()
        .value("CURRENCY", "EUR")
        .env("TOKEN", "SHOP_TOKEN")
        .file("KEY", "shop/key.pem")
        .file("CA", "/etc/ca.pem");
    assert_eq!(config.module_options(&config.modules[0]).variables, expected);
    assert_eq!(config.any_module_options().variables, Variables::new());
}

#[test]
fn variables_belong_to_the_module_above_them() {
    let text = "[[module]]\npath = \"a.wasm\"\n[[module]]\npath = \"b.wasm\"\nvariables = { A = \"a\" }\n";
    let config = parse(text).expect("all of it is known");
    let names: Vec<Vec<String>> = config
        .modules
        .iter()
        .map(|module| {
            config
                .module_options(module)
                .variables
                .names()
                .map(str::to_owned)
                .collect()
        })
        .collect();
    assert_eq!(names, [vec![], vec!["A".to_owned()]]);
}

#[test]
fn value_of_another_type_is_refused_and_not_shown() {
    for (value, kind) in [
        ("424242", "a number"),
        ("0xfedcba9876543210", "a number"),
        ("424242.5", "a number"),
        ("true", "a truth value"),
        ("[\"424242\"]", "a list"),
        ("{}", "a table without exactly one of the keys `env` and `file`"),
        (
            "{ env = \"A\", file = \"a\" }",
            "a table without exactly one of the keys `env` and `file`",
        ),
    ] {
        let text = with(&format!("PIN = {value}"));
        let refusal = refusal(&text);
        assert_eq!(
            refusal,
            format!(
                "the value of a variable is {kind}, expected a string, {{ env = \"HOST_VARIABLE\" }} or {{ file = \"PATH\" }} \
                 in shop/pointwork.toml:4:7"
            )
        );
        let settings = parse(&with("PIN = \"424242\"")).expect("a string");
        assert!(!format!("{settings:?}").contains("424242"), "{settings:?}");
    }
    let json = Config::default().module_from_json("shop", r#"{ "variables": { "PIN": 424242 } }"#);
    assert_eq!(
        json.expect_err("a number").to_string(),
        "the value of a variable is a number, expected a string, { env = \"HOST_VARIABLE\" } or { file = \"PATH\" } in \
         `variables.PIN` of the settings of module `shop`"
    );
    assert!(!refusal(&with("DAY = 1979-05-27")).contains("1979"));
}

#[test]
fn place_has_no_other_key() {
    assert_eq!(
        refusal(&with("TOKEN = { from = \"SHOP_TOKEN\" }")),
        "unknown key `from` in shop/pointwork.toml:4:11 | expected `env` or `file`"
    );
    assert_eq!(
        refusal(&with("TOKEN = { fiel = \"token\" }")),
        "unknown key `fiel` in shop/pointwork.toml:4:11 | did you mean `file`?"
    );
}

#[test]
fn name_and_value_are_those_of_an_environment() {
    let hint = "a name has 1 to 255 bytes, all of them printable, and no `=`";
    for (keys, message) in [
        (
            "\"A=B\" = \"c\"",
            format!("`A=B` is not the name of a variable in shop/pointwork.toml:4:1 | {hint}"),
        ),
        (
            "\"\" = \"c\"",
            format!("`` is not the name of a variable in shop/pointwork.toml:4:1 | {hint}"),
        ),
        (
            "\"A\\u0000\" = \"c\"",
            format!("`A\\0` is not the name of a variable in shop/pointwork.toml:4:1 | {hint}"),
        ),
        (
            "A = { env = \"\" }",
            format!("`env` of `A` is not the name of an environment variable in shop/pointwork.toml:4:13 | {hint}"),
        ),
        (
            "A = { file = \"\" }",
            "the path of the file is empty in shop/pointwork.toml:4:14".to_owned(),
        ),
        (
            "A = \"a\\u0000b\"",
            "the value of `A` has a zero byte in shop/pointwork.toml:4:5".to_owned(),
        ),
    ] {
        assert_eq!(refusal(&with(keys)), message);
    }
}

/// A value that stands nowhere else.
const SECRET: &str = "open-sesame-4711";

#[test]
fn a_value_in_a_wrong_place_is_not_shown() {
    let module = "[[module]]\npath = \"store.wasm\"\n";
    for (keys, message) in [
        (
            "grant.environment = \"SECRET\"",
            "invalid type: string, expected a boolean in shop/pointwork.toml:3:21",
        ),
        (
            "grant.environment = \"SECRET\\\", expected SECRET\\n\"",
            "invalid type: string, expected a boolean in shop/pointwork.toml:3:21",
        ),
        (
            "grant.environment = [\"TOKEN=SECRET\"]",
            "invalid type: sequence, expected a boolean in shop/pointwork.toml:3:21",
        ),
        (
            "variables = \"TOKEN=SECRET\"",
            "invalid type: string, expected a map in shop/pointwork.toml:3:13",
        ),
        (
            "variables = [\"TOKEN=SECRET\"]",
            "invalid type: sequence, expected a map in shop/pointwork.toml:3:13",
        ),
        (
            "variables = 4711",
            "invalid type: integer, expected a map in shop/pointwork.toml:3:13",
        ),
        (
            "TOKEN = \"SECRET\"",
            "unknown key `TOKEN` in shop/pointwork.toml:3:1 | expected ",
        ),
        (
            "variables.TOKEN = { value = \"SECRET\" }",
            "unknown key `value` in shop/pointwork.toml:3:21 | expected `env` or `file`",
        ),
        (
            "variables.TOKEN = { env = [\"SECRET\"] }",
            "invalid type: sequence, expected a string in shop/pointwork.toml:3:27",
        ),
        (
            "variables.TOKEN = { env = 4711.5 }",
            "invalid type: floating point, expected a string in shop/pointwork.toml:3:27",
        ),
        (
            "variables.TOKEN = { env = \"SECRET==\" }",
            "`env` of `TOKEN` is not the name of an environment variable in shop/pointwork.toml:3:27 | ",
        ),
        ("variables.TOKEN = SECRET", ""),
        ("variables.TOKEN = 'SECRET", ""),
        ("variables.TOKEN = \"SECRET", ""),
        ("variables.TOKEN = \"SECRET\\q\"", ""),
        ("variables.TOKEN = \"SECRET\" \"SECRET\"", ""),
        ("variables.TOKEN = \"SE\"\nvariables.TOKEN = \"SECRET\"", ""),
        ("variables = { TOKEN = \"SECRET\"", ""),
        ("variables = { TOKEN: \"SECRET\" }", ""),
        ("variables = { \"SECRET\" }", ""),
        ("variables.TOKEN = 0xSECRET", ""),
        ("variables.TOKEN = 2026-13-SECRET", ""),
    ] {
        let refusal = refusal(&format!("{module}{}\n", keys.replace("SECRET", SECRET)));
        assert!(refusal.starts_with(message), "{keys}: {refusal}");
        assert!(
            !refusal.contains("4711") && !refusal.contains("sesame"),
            "{keys}: {refusal}"
        );
    }
}

#[test]
fn a_value_in_a_wrong_place_of_the_json_of_a_program_is_not_shown() {
    for settings in [
        r#"{ "grant": { "environment": "SECRET" } }"#,
        r#"{ "variables": "TOKEN=SECRET" }"#,
        r#"{ "variables": ["TOKEN=SECRET"] }"#,
        r#"{ "variables": { "TOKEN": ["SECRET"] } }"#,
        r#"{ "variables": { "TOKEN": { "env": "SECRET==" } } }"#,
        r#"{ "variables": { "TOKEN": { "env": 4711 } } }"#,
        r#"{ "variables": { "TOKEN": SECRET } }"#,
        r#"{ "variables": { "TOKEN": "SECRET } }"#,
        r#"{ "variables": { "TOKEN": 4711e9999 } }"#,
        r#""TOKEN=SECRET""#,
    ] {
        let settings = settings.replace("SECRET", SECRET);
        let refusal = Config::default()
            .module_from_json("shop", &settings)
            .expect_err(&settings);
        let refusal = format!("{refusal} {refusal:?}");
        assert!(
            !refusal.contains("4711") && !refusal.contains("sesame"),
            "{settings}: {refusal}"
        );
    }
}
