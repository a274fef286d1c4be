//! The tables `[module.grant]`.

use pointwork::Access;
use toml::Spanned;

use super::*;

/// A configuration whose module is granted this; the first key stands in line 4.
fn granting(keys: &str) -> String {
    format!("[[module]]\npath = \"store.wasm\"\n[module.grant]\n{keys}")
}

fn granted(keys: &str) -> Grant {
    let config = parse(&granting(keys)).unwrap_or_else(|error| panic!("{error}"));
    config.modules[0].grant.clone()
}

fn refused(keys: &str) -> String {
    refusal(&granting(keys))
}

#[test]
fn every_capability_is_read() {
    let config = parse(&granting(
        r#"
        clocks = true
        random = true
        output = false
        environment = true
        directories = [{ host = "data", guest = "/data/", access = "read-write" }, { host = "/srv", guest = "/" }]
        sockets = ["127.0.0.1:5432", "db.internal:5432"]
        http = ["api.example.com", "127.0.0.1:8080"]
        "#,
    ))
    .expect("all of it is known");
    let grant = config.modules[0].grant.clone();
    assert_eq!((grant.clocks, grant.random, grant.output), (true, true, false));

    assert!(grant.environment);

    let directories = grant.directories.expect("they are there");
    let places: Vec<_> = directories
        .iter()
        .map(|directory| {
            let (host, guest) = (directory.host.get_ref(), directory.guest.get_ref());
            (host.as_path(), guest.as_str(), directory.access)
        })
        .collect();
    assert_eq!(
        places,
        [
            (Path::new("shop/data"), "/data", Access::ReadWrite),
            (Path::new("/srv"), "/", Access::ReadOnly)
        ],
        "relative to the file, and without a slash at the end"
    );
    assert_eq!(
        config.source.place(&directories[0].host.span()),
        "shop/pointwork.toml:9:33"
    );

    let texts = |list: Option<Vec<Spanned<String>>>| list.map(|list| list.iter().map(ToString::to_string).collect());
    let sockets: Option<Vec<_>> = texts(grant.sockets);
    assert_eq!(sockets.expect("they are there"), ["127.0.0.1:5432", "db.internal:5432"]);
    let http: Option<Vec<_>> = texts(grant.http);
    assert_eq!(http.expect("it is there"), ["api.example.com", "127.0.0.1:8080"]);
}

#[test]
fn empty_lists_are_grants_and_an_empty_table_is_none() {
    assert_eq!(granted(""), Grant::default());
    assert_eq!(
        granted("environment = false\ndirectories = []\nsockets = []\nhttp = []"),
        Grant {
            directories: Some(Vec::new()),
            sockets: Some(Vec::new()),
            http: Some(Vec::new()),
            ..Grant::default()
        }
    );
}

#[test]
fn grant_belongs_to_the_module_above_it() {
    let text = "[[module]]\npath = \"a.wasm\"\n[[module]]\npath = \"b.wasm\"\n[module.grant]\nclocks = true\n";
    let config = parse(text).expect("all of it is known");
    let clocks: Vec<bool> = config.modules.iter().map(|module| module.grant.clocks).collect();
    assert_eq!(clocks, [false, true]);
}

#[test]
fn unknown_capability_names_the_place_and_the_nearest() {
    assert_eq!(
        refused("clock = true"),
        "unknown key `clock` in shop/pointwork.toml:4:1 | did you mean `clocks`?"
    );
    assert_eq!(
        refused("gpu = true"),
        "unknown key `gpu` in shop/pointwork.toml:4:1 | expected `clocks`, `random`, `output`, `environment`, \
         `directories`, `sockets` or `http`"
    );
}

#[test]
fn value_of_another_type_says_what_was_expected() {
    for (keys, message) in [
        (
            "clocks = 1",
            "invalid type: integer, expected a boolean in shop/pointwork.toml:4:10",
        ),
        (
            "sockets = true",
            "invalid type: boolean, expected a sequence in shop/pointwork.toml:4:11",
        ),
        (
            "http = [80]",
            "invalid type: integer, expected a string in shop/pointwork.toml:4:9",
        ),
        (
            "environment = { PORT = \"80\" }",
            "invalid type: map, expected a boolean in shop/pointwork.toml:4:15",
        ),
    ] {
        assert_eq!(refused(keys), message);
    }
}

#[test]
fn directory_has_an_absolute_path_in_the_module() {
    for path in ["data", "", "./data", "/data/../etc", "/./data", "//data", "/data//"] {
        assert_eq!(
            refused(&format!("directories = [{{ host = \"data\", guest = \"{path}\" }}]")),
            format!(
                "`{path}` is not a path in a module in shop/pointwork.toml:4:41 | \
                 expected an absolute path without `.`, `..` and double slashes, as in `/data`"
            )
        );
    }
}

#[test]
fn second_directory_at_a_place_is_refused() {
    assert_eq!(
        refused("directories = [\n  { host = \"a\", guest = \"/data\" },\n  { host = \"b\", guest = \"/data/\" },\n]"),
        "two directories have the path `/data` in shop/pointwork.toml:6:25 | \
         give each directory a path of its own in the module"
    );
}

#[test]
fn directory_that_is_described_wrongly_names_the_key() {
    for (directory, message) in [
        (
            "{ guest = \"/data\" }",
            "missing key `host` in shop/pointwork.toml:4:16",
        ),
        ("{ host = \"data\" }", "missing key `guest` in shop/pointwork.toml:4:16"),
        (
            "{ host = \"\", guest = \"/data\" }",
            "the path of the directory is empty in shop/pointwork.toml:4:25 | write `.` for the directory of this file",
        ),
        (
            "{ host = \"data\", guest = \"/data\", acess = \"read-write\" }",
            "unknown key `acess` in shop/pointwork.toml:4:50 | did you mean `access`?",
        ),
        (
            "{ host = \"data\", guest = \"/data\", access = \"readwrite\" }",
            "unknown value `readwrite` in shop/pointwork.toml:4:59 | did you mean `read-write`?",
        ),
    ] {
        assert_eq!(refused(&format!("directories = [{directory}]")), message);
    }
}

#[test]
fn host_and_port_that_are_none_say_how_they_are_written() {
    assert_eq!(
        refused("sockets = [\"127.0.0.1:5432\", \"db.internal\"]"),
        "`db.internal` has no port; expected host and port, as in `127.0.0.1:5432`, `[::1]:5432` or \
         `db.internal:5432` in shop/pointwork.toml:4:30"
    );
    assert_eq!(
        refused("http = [\"https://api.example.com/\"]"),
        "`https://api.example.com/` does not name a host; expected a host without scheme and path, as in \
         `api.example.com`, `127.0.0.1:8080` or `[::1]:8080` in shop/pointwork.toml:4:9"
    );
}
