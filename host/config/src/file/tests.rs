use std::time::Duration;

use pointwork_sqlite::SqliteOptions;

use super::*;

mod grant;
mod json;
mod limits;
mod module;
mod operation;
mod variables;

fn parse(text: &str) -> Result<Config> {
    Config::parse(text, "shop/pointwork.toml")
}

/// The error as the user sees it: the sentence, and the hint behind a bar.
fn refusal(text: &str) -> String {
    let error = parse(text).expect_err("the configuration is wrong");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn empty_file_is_a_configuration() {
    let config = parse("").expect("nothing is required");
    assert_eq!(config.listen, None);
    assert_eq!(config.modules, []);
    assert_eq!(config.limits, LimitValues::default());
    assert!(config.channels.is_empty());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of all cases")]
fn every_key_is_read() {
    let config = parse(
        r#"
        listen = "127.0.0.1:8080"
        adapter = "hyper"
        prefix = "/api"
        trailing-slash = "match"
        watch = true
        admin = { socket = "admin.sock" }
        state = { directory = "state" }
        cache = { directory = "/var/cache/shop", enabled = false }
        compile = { size = "1MiB", time = "20s", memory = "1GiB", at-once = 2 }

        [[module]]
        name = "products"
        path = "target/pointwork/products.wasm"
        build = "controllers"

        [[module]]
        path = "/srv/health.wasm"

        [limits]
        request-deadline = "1m 30s"
        body = "2MiB"
        memory = 65536
        instances = 8
        in-flight = 16
        queue-wait = "250ms"
        header-timeout = "10s"
        body-timeout = "500ms"
        shutdown-grace = "5s"
        event-queue = 100
        event-deadline = "2s"
        payload = "64KiB"
        breaker.crashes = 0

        [channels.db]
        driver = "sqlite"
        path = "products.sqlite"
        schema = "schema.sql"
        [channels.db.on."product:all"]
        query = "SELECT 1"
        [channels.db.on."product:one"]
        query-one = "SELECT 2"
        [channels.db.on."product:add"]
        execute = "DELETE FROM products"

        [channels.response]
        driver = "response"
        "#,
    )
    .expect("all of it is known");

    assert_eq!(config.listen.as_ref().map(Listen::as_str), Some("127.0.0.1:8080"));
    assert_eq!(config.trailing_slash, TrailingSlash::Match);
    assert_eq!(config.adapter, Some(Adapter::Hyper));
    assert_eq!(config.prefix.as_ref().map(Prefix::as_str), Some("/api"));
    assert!(config.watch);
    assert_eq!(
        config.admin,
        Some(Admin {
            address: AdminAddress::Socket("shop/admin.sock".into()),
            token_file: None
        })
    );
    assert_eq!(config.state.as_deref(), Some(Path::new("shop/state")));
    assert_eq!(
        config.cache,
        Cache {
            enabled: false,
            directory: Some("/var/cache/shop".into())
        }
    );
    let products = Module {
        build: Some("shop/controllers".into()),
        ..Module::new("products", "shop/target/pointwork/products.wasm")
    };
    let health = Module::new("health", "/srv/health.wasm");
    assert_eq!(config.modules, [products, health]);
    let app = config.app_options();
    assert_eq!(
        (app.router.deadline, app.router.body_limit),
        (Some(Duration::from_secs(90)), 2 << 20)
    );
    assert_eq!(
        (app.limits.memory, app.limits.instances, app.limits.in_flight),
        (65536, 8, 16)
    );
    assert_eq!(app.limits.queue_wait, Duration::from_millis(250));
    assert_eq!(
        (app.bus.queue, app.bus.deadline, app.bus.payload_limit),
        (100, Duration::from_secs(2), 65536)
    );
    assert_eq!((app.compile.size, app.compile.time), (1 << 20, Duration::from_secs(20)));
    assert_eq!((app.compile.memory, app.compile.at_once), (1 << 30, 2));
    assert_eq!(config.any_module_options().breaker.crashes, 0);
    let server = config.server_options();
    assert_eq!(server.first_byte_timeout, Some(Duration::from_secs(10)));
    assert_eq!(server.header_timeout, Some(Duration::from_secs(10)));
    assert_eq!(server.body_timeout, Some(Duration::from_millis(500)));
    assert_eq!(server.shutdown_grace, Duration::from_secs(5));
    let Driver::Sqlite(db) = &config.channels["db"] else {
        panic!("`db` is an sqlite channel");
    };
    let options = SqliteOptions::new("shop/products.sqlite")
        .schema("shop/schema.sql")
        .query("product:all", "SELECT 1")
        .query_one("product:one", "SELECT 2")
        .execute("product:add", "DELETE FROM products");
    assert_eq!(db.options, options);
    assert_eq!(
        config.source.place(&db.spans["product:all"]),
        "shop/pointwork.toml:40:17"
    );
    let send = BTreeMap::from([("send".to_owned(), 200)]);
    assert_eq!(config.channels["response"], Driver::Response(send));
}

#[test]
fn reference_in_the_documentation_is_a_configuration() {
    let documentation: String = include_str!("../lib.rs")
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"])
        .collect();
    let reference = documentation
        .split("```toml")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let config = parse(reference.expect("it has an example of the file")).expect("all of it is known");
    assert_eq!(config.modules.len(), 2);
    assert!(config.modules[1].grant.clocks, "the table belongs to the second");
}

#[test]
fn unknown_key_names_the_place_and_the_nearest_key() {
    assert_eq!(
        refusal("\n\nprefx = \"/api\"\n"),
        "unknown key `prefx` in shop/pointwork.toml:3:1 | did you mean `prefix`?"
    );
    assert_eq!(
        refusal("[limits]\n  bodi = \"2MiB\""),
        "unknown key `bodi` in shop/pointwork.toml:2:3 | did you mean `body`?"
    );
    assert_eq!(
        refusal("[channels.db]\ndriver = \"sqlite\"\npath = \"a\"\nshema = \"b\""),
        "unknown key `shema` in shop/pointwork.toml:4:1 | did you mean `schema`?"
    );
    assert_eq!(
        refusal("[channels.db]\ndriver = \"sqlite\"\npath = \"a\"\n[channels.db.on.x]\nquery_one = \"SELECT 1\""),
        "unknown key `query_one` in shop/pointwork.toml:5:1 | did you mean `query-one`?"
    );
}

#[test]
fn unknown_key_far_from_all_lists_them() {
    let refusal = refusal("[[module]]\npath = \"a.wasm\"\nzzz = 1");
    let start = "unknown key `zzz` in shop/pointwork.toml:3:1 | expected `name`, `path`, `build`, `target`, `grant`, \
                 `variables`, `health`, `digest`, `channels`, `isolation`, `memory`, ";
    assert!(refusal.starts_with(start), "{refusal}");
    for key in super::limits::LimitTable::Module.keys() {
        assert!(refusal.contains(&format!("`{key}`")), "{key}: {refusal}");
    }
}

#[test]
fn unknown_word_is_refused_like_an_unknown_key() {
    assert_eq!(
        refusal("adapter = \"hyperr\""),
        "unknown value `hyperr` in shop/pointwork.toml:1:11 | did you mean `hyper`?"
    );
    assert_eq!(
        refusal("[channels.db]\ndriver = \"sqlit\""),
        "unknown driver `sqlit` in shop/pointwork.toml:2:10 | did you mean `sqlite`?"
    );
}

#[test]
fn missing_key_is_named() {
    assert_eq!(
        refusal("[[module]]\nname = \"a\""),
        "missing key `path` in shop/pointwork.toml:1:1"
    );
    assert_eq!(
        refusal("[channels.db]\npath = \"a\""),
        "channel `db` has no `driver` in shop/pointwork.toml:1:11 | expected `nats`, `response` or `sqlite`"
    );
}

#[test]
fn wrong_type_says_what_was_expected() {
    assert_eq!(
        refusal("prefix = 5"),
        "invalid type: integer, expected a string in shop/pointwork.toml:1:10"
    );
    assert_eq!(
        refusal("[limits]\nrequest-deadline = 30"),
        "`30` is invalid for `request-deadline`: expected a time above 0 and up to 100 years with its unit, as in \"30s\" or \"1m 30s\" \
         in shop/pointwork.toml:2:20"
    );
    assert_eq!(
        refusal("channels = 1"),
        "`channels` is not a table; expected tables like `[channels.db]` in shop/pointwork.toml:1:12"
    );
}

#[test]
fn listen_without_port_says_how_it_is_written() {
    assert_eq!(
        refusal("listen = \"8080\""),
        "`8080` has no port; expected host and port, as in `127.0.0.1:8080`, `[::1]:8080` or `localhost:0` \
         in shop/pointwork.toml:1:10"
    );
}

#[test]
fn text_that_is_no_toml_names_the_place() {
    let refusal = refusal("listen = \"127.0.0.1:0\"\nprefix = \n");
    assert!(refusal.ends_with("in shop/pointwork.toml:2:10"), "{refusal}");
}

#[test]
fn second_module_of_a_name_is_refused() {
    assert_eq!(
        refusal("[[module]]\npath = \"a/shop.wasm\"\n[[module]]\npath = \"b/shop.wasm\""),
        "two modules have the name `shop` in shop/pointwork.toml:4:8 | give each module a name of its own: name = \"…\""
    );
}

#[test]
fn channel_with_a_colon_in_its_name_is_refused() {
    assert_eq!(
        refusal("[channels.\"a:b\"]\ndriver = \"response\""),
        "`a:b` cannot be the name of a channel in shop/pointwork.toml:1:11 | \
         a name is not empty and has no `:`, which stands between channel and event"
    );
}

#[test]
fn event_runs_exactly_one_statement() {
    let head = "[channels.db]\ndriver = \"sqlite\"\npath = \"a\"\n";
    for body in [
        "[channels.db.on.x]\n",
        "[channels.db.on.x]\nquery = \"SELECT 1\"\nexecute = \"DELETE FROM a\"\n",
    ] {
        let refusal = refusal(&format!("{head}{body}"));
        assert!(
            refusal.starts_with("event `x` does not name one statement in shop/pointwork.toml:4:"),
            "{refusal}"
        );
        assert!(
            refusal.ends_with("exactly one of `query`, `query-one` and `execute`"),
            "{refusal}"
        );
    }
}

#[test]
fn status_outside_a_reply_is_refused() {
    assert_eq!(
        refusal("[channels.r]\ndriver = \"response\"\non.send.status = 100"),
        "`100` is not the status of a reply in shop/pointwork.toml:3:18 | expected 200 to 599"
    );
}

#[test]
fn file_that_is_not_there_is_named() {
    let error = Config::load("no/such/pointwork.toml").expect_err("it is not there");
    assert_eq!(
        error.to_string(),
        "cannot read the configuration `no/such/pointwork.toml`"
    );
    assert_eq!(error.kind(), ErrorKind::Unreadable);
}

#[test]
fn trusted_proxies_are_networks() {
    let config = parse("trusted-proxies = [\"10.0.0.0/8\", \"192.0.2.1\", \"fd00::/8\"]").expect("three networks");
    let networks = config.app_options().router.trusted_proxies;
    let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.0.0.0/8", "192.0.2.1/32", "fd00::/8"]);
    assert_eq!(
        refusal("trusted-proxies = [\"10.0.0.0/8\", \"10.0.0.0/33\"]"),
        "`10.0.0.0/33` is not a network; expected one such as `10.0.0.0/8`, `fd00::/8` or `192.0.2.1` \
         in shop/pointwork.toml:1:19"
    );
}

#[test]
fn streamed_bodies_have_a_limit_of_their_own() {
    let config =
        parse("[limits]\nstream-body = \"1GiB\"\n[[module]]\npath = \"a.wasm\"\nstream-body = 10").expect("two limits");
    let app = config.app_options();
    assert_eq!(app.router.stream_body_limit, Some(1 << 30));
    assert_eq!(app.limits.stream_body, None, "the application's limit holds");
    let module = config.module_options(&config.modules[0]);
    assert_eq!(module.limits.and_then(|limits| limits.stream_body), Some(10));
}

#[test]
fn channels_elsewhere_have_their_settings() {
    let text = "[nats]\nservers = [\"tls://a:4222\", \"b\"]\ncredentials-file = \"shop.creds\"\nca-file = \"/ca.pem\"\nprefix = \"shop\"\n\
                [channels.stock]\ndriver = \"nats\"\non = [\"item:reserve\"]\n[[serve]]\nchannel = \"mail\"\nat-once = 4\n\
                [[serve]]\nchannel = \"audit\"\n[durable.mail]\nstore = \"nats\"";
    let config = parse(text).expect("a configuration");
    let nats = config.nats.as_ref().expect("servers");
    assert_eq!(nats.servers, ["tls://a:4222", "b"]);
    assert_eq!(nats.credentials_file.as_deref(), Some(Path::new("shop/shop.creds")));
    assert_eq!(
        (nats.ca_file.as_deref(), &*nats.prefix),
        (Some(Path::new("/ca.pem")), "shop")
    );
    assert_eq!(config.channels["stock"], Driver::Nats(vec!["item:reserve".to_owned()]));
    assert_eq!(
        config.serve,
        BTreeMap::from([("audit".to_owned(), 16), ("mail".to_owned(), 4)])
    );
    assert_eq!(config.durable["mail"].store, Store::Nats);
    let without_files = text.replace("credentials-file", "# ").replace("ca-file", "# ");
    let config = parse(&without_files).expect("a configuration");
    let channels = crate::Channels::open(&config).expect("nothing connects yet");
    assert_eq!(channels.rows(), [["stock", "nats", "item:reserve"].map(str::to_owned)]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of all cases")]
fn channels_elsewhere_that_cannot_be_are_refused() {
    for (text, expected) in [
        ("[nats]", "missing key `servers` in shop/pointwork.toml:1:1"),
        (
            "[nats]\nservers = []",
            "`servers` is empty in shop/pointwork.toml:2:11 | name one or more, such as [\"nats://127.0.0.1:4222\"]",
        ),
        (
            "[nats]\nservers = [\"a\"]\nprefix = \"\"",
            "`prefix` is empty in shop/pointwork.toml:3:10",
        ),
        (
            "[nats]\nserver = [\"a\"]",
            "unknown key `server` in shop/pointwork.toml:2:1 | did you mean `servers`?",
        ),
        (
            "[channels.stock]\ndriver = \"nats\"",
            "missing key `on` in shop/pointwork.toml:1:1",
        ),
        (
            "[channels.stock]\ndriver = \"nats\"\non = []",
            "the channel has no events in shop/pointwork.toml:3:6 | name those that its listeners elsewhere hear, such as on = \
             [\"item:reserve\"]",
        ),
        (
            "[channels.stock]\ndriver = \"nats\"\non = [\"a\", \"a\"]",
            "the event `a` stands twice in shop/pointwork.toml:3:12",
        ),
        (
            "[serve]\nchannel = \"mail\"",
            "`serve` is not a list of tables in shop/pointwork.toml:1:1 | write `[[serve]]`",
        ),
        (
            "[[serve]]\nchannel = \"a:b\"",
            "`a:b` is not a channel; expected a name such as `product` in shop/pointwork.toml:2:11",
        ),
        (
            "[[serve]]\nchannel = \"mail\"\nat-once = 0",
            "`at-once` is 0, expected 1 or more in shop/pointwork.toml:3:11",
        ),
        (
            "[[serve]]\nchannel = \"mail\"\n[[serve]]\nchannel = \"mail\"",
            "the channel `mail` is served twice in shop/pointwork.toml:4:11",
        ),
        (
            "[channels.mail]\ndriver = \"nats\"\non = [\"a\"]\n[[serve]]\nchannel = \"mail\"",
            "the channel `mail` is served, and its listeners are elsewhere by [channels.mail] in shop/pointwork.toml:5:11",
        ),
    ] {
        let refusal = refusal(text);
        assert!(refusal.starts_with(expected), "{text}: {refusal}");
    }
    for (text, what) in [
        (
            "[durable.mail]\nstore = \"nats\"",
            "the store of the durable channel `mail`",
        ),
        (
            "[channels.a]\ndriver = \"nats\"\non = [\"b\"]",
            "the driver of the channel `a`",
        ),
        ("[[serve]]\nchannel = \"mail\"", "`[[serve]]` of the channel `mail`"),
    ] {
        let error = crate::Channels::open(&parse(text).expect("a configuration")).expect_err("there are no servers");
        assert_eq!(error.to_string(), format!("{what} needs servers of NATS"));
    }
    for (nats, expected) in [
        (
            "servers = [\"http://u:p@a:1\"]",
            "`a:1` is no server of NATS, expected one such as `nats://127.0.0.1:4222`",
        ),
        (
            "servers = [\"nats://\"]",
            "`nats://` is no server of NATS, expected one such as `nats://127.0.0.1:4222`",
        ),
        (
            "servers = [\"a\"]\ncredentials-file = \"none\"",
            "the credentials for NATS, `shop/none`, cannot be read",
        ),
    ] {
        let config = parse(&format!("[nats]\n{nats}\n[[serve]]\nchannel = \"mail\"")).expect("a configuration");
        let error = crate::Channels::open(&config).expect_err("it cannot be");
        assert_eq!(error.to_string(), expected);
    }
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let text = format!("[nats]\nservers = [\"a\"]\nca-file = '{manifest}'\n[[serve]]\nchannel = \"mail\"");
    let error = crate::Channels::open(&parse(&text).expect("a configuration")).expect_err("it has no certificates");
    assert_eq!(
        error.to_string(),
        format!("the authorities for NATS, `{manifest}`, have no `-----BEGIN `")
    );
}

#[test]
fn durable_channel_has_its_settings() {
    let text = "[durable.mail]\nstore = \"sqlite\"\norder = \"key\"\nkey = \"/order/id\"\npartitions = 4\nattempts = 3\n\
                backoff = [\"1s\", \"1m 30s\"]\nduplicates = \"2h\"\nid = \"/id\"";
    let config = parse(text).expect("a channel");
    let options = &config.durable["mail"].options;
    assert_eq!((options.partitions, options.attempts), (4, 3));
    assert_eq!(
        options.backoff.iter().map(Duration::as_secs).collect::<Vec<_>>(),
        [1, 90]
    );
    assert_eq!(options.duplicates.as_secs(), 7_200);
}

#[test]
fn durable_channel_that_cannot_be_is_refused() {
    let durable = |lines: &str| refusal(&format!("[durable.mail]\nstore = \"sqlite\"\n{lines}"));
    for (lines, expected) in [
        (
            "order = \"key\"",
            "`order = \"key\"` without `key` in shop/pointwork.toml:3:9 | ",
        ),
        (
            "key = \"/a\"",
            "`key` without `order = \"key\"` in shop/pointwork.toml:3:7",
        ),
        (
            "order = \"keys\"",
            "unknown order `keys` in shop/pointwork.toml:3:9 | did you mean `key`?",
        ),
        (
            "partitions = 4",
            "`partitions` without `order = \"key\"` in shop/pointwork.toml:3:14",
        ),
        (
            "at-once = 4",
            "`at-once` without `order = \"none\"` in shop/pointwork.toml:3:11",
        ),
        (
            "id = \"order\"",
            "`order` is no JSON pointer: expected one such as `/order/id` in shop/pointwork.toml:3:6",
        ),
        (
            "backoff = []",
            "`backoff` has no valid times in shop/pointwork.toml:3:11 | ",
        ),
        (
            "backoff = [\"0s\"]",
            "`backoff` has no valid times in shop/pointwork.toml:3:11 | ",
        ),
        (
            "attempts = 0",
            "`0` is invalid for `attempts`: expected a whole number from 1 to 4294967295 in ",
        ),
        (
            "attemps = 1",
            "unknown key `attemps` in shop/pointwork.toml:3:1 | did you mean `attempts`?",
        ),
    ] {
        let refusal = durable(lines);
        assert!(refusal.starts_with(expected), "{lines}: {refusal}");
    }
    assert_eq!(
        refusal("[durable.mail]\nstore = \"sqlit\""),
        "unknown store `sqlit` in shop/pointwork.toml:2:9 | did you mean `sqlite`?"
    );
    assert_eq!(
        refusal("[durable.mail]"),
        "missing key `store` in shop/pointwork.toml:1:1"
    );
    assert_eq!(
        refusal("[durable.server]\nstore = \"sqlite\""),
        "the channel `server` cannot be durable in shop/pointwork.toml:1:10 | its events tell of one process, and are lost with it"
    );
    let without_file = parse("[durable.mail]\nstore = \"sqlite\"").expect("a configuration");
    let error = crate::Channels::open(&without_file).expect_err("there is no file");
    assert_eq!(error.to_string(), "there is no file for the events of durable channels");
}
