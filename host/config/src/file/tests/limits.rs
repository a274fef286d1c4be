//! The keys of limits: their bounds, their errors, and the page `docs/limits.md`.

use std::fmt::Write as _;

use pointwork::{AppOptions, Breaker, CompileOptions, Trial};
use pointwork_core::limits::{Amount, Limit, Limits};
use pointwork_core::{BusOptions, Http2Options, RouterOptions, ServerOptions};

use super::*;
use crate::file::limits::LimitTable;

const TABLES: [(LimitTable, &str, &str); 3] = [
    (LimitTable::All, "", "limits"),
    (LimitTable::Module, "[[module]]\npath = \"a.wasm\"\n", "module"),
    (LimitTable::Compile, "", "compile"),
];

/// A limit as a key of a table.
struct Key {
    limit: &'static Limit,
    table: LimitTable,
    header: String,
}

fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    for (table, before, name) in TABLES {
        for below in [""].into_iter().chain(table.below()) {
            let header = match (below, table) {
                ("", LimitTable::Module) => before.to_owned(),
                ("", _) => format!("{before}[{name}]\n"),
                _ => format!("{before}[{name}.{below}]\n"),
            };
            keys.extend(table.limits(below).map(|limit| Key {
                limit,
                table,
                header: header.clone(),
            }));
        }
    }
    keys
}

impl Key {
    fn config(&self, value: &str) -> Result<Config> {
        parse(&format!("{}{} = {value}\n", self.header, self.limit.name))
    }

    /// The amount that reaches the options.
    fn amount(&self, value: &str) -> Option<Amount> {
        let config = self.config(value).unwrap_or_else(|error| panic!("{error}"));
        let limits = match self.table {
            LimitTable::Module => &config.modules[0].limits,
            _ => &config.limits,
        };
        let groups = [
            applied::<pointwork::ModuleLimits>,
            applied::<pointwork::ModuleOptions>,
            applied::<Breaker>,
            applied::<Trial>,
            applied::<RouterOptions>,
            applied::<BusOptions>,
            applied::<ServerOptions>,
            applied::<CompileOptions>,
        ];
        groups.iter().find_map(|applied| applied(limits, self.limit))
    }
}

fn applied<T: Limits + Default>(limits: &LimitValues, limit: &Limit) -> Option<Amount> {
    let mut options = T::default();
    limits.apply(&mut options);
    T::TABLE.contains(limit).then(|| options.look(limit)).flatten()
}

/// An amount as the file has it.
fn written(amount: Amount) -> String {
    match amount {
        Amount::Bytes(number) | Amount::Count(number) => number.to_string(),
        Amount::Time(time) => format!("\"{}s {}ns\"", time.as_secs(), time.subsec_nanos()),
    }
}

/// Values just out of bounds.
fn beyond(limit: &Limit) -> [String; 2] {
    match (limit.min, limit.max) {
        (Amount::Time(_), Amount::Time(max)) => [
            "\"0s\"".to_owned(),
            written(Amount::Time(max + Duration::from_nanos(1))),
        ],
        (Amount::Bytes(min) | Amount::Count(min), Amount::Bytes(max) | Amount::Count(max)) => {
            [i128::from(min) - 1, i128::from(max) + 1].map(|number| number.to_string())
        }
        bounds => panic!("two units: {bounds:?}"),
    }
}

/// More than the parser's numbers have room for.
const OVERFLOWS: [&str; 8] = [
    "99999999999999999999",
    "\"99999999999999999999\"",
    "\"99999999999999999999GiB\"",
    "\"17179869184GiB\"",
    "\"1e30GiB\"",
    "\"18446744073709551615s 999999999999ms\"",
    "\"99999999999999999999s\"",
    "\"584942417356years\"",
];

#[test]
fn every_limit_is_read_within_its_bounds_and_refused_beyond() {
    let keys = keys();
    assert!(keys.len() > 50, "{}", keys.len());
    for key in &keys {
        let Limit { name, min, max, .. } = key.limit;
        for amount in [*min, *max].into_iter().chain(key.limit.default) {
            assert_eq!(key.amount(&written(amount)), Some(amount), "{}{name}", key.header);
        }
        for value in beyond(key.limit)
            .iter()
            .map(String::as_str)
            .chain(["true", "\"much\"", "{}", "1.5"])
            .chain(OVERFLOWS)
        {
            let error = key.config(value).expect_err(value).to_string();
            let start = format!("`{value}` is invalid for `{name}`: expected a ");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.contains(" in shop/pointwork.toml:"), "{error}");
        }
    }
}

#[test]
fn limits_are_set_within_their_bounds_alone() {
    fn check<T: Limits + Default>() {
        for limit in T::TABLE {
            let mut options = T::default();
            let below = match limit.min {
                Amount::Time(_) => Some(Amount::Time(Duration::ZERO)),
                Amount::Count(min) => min.checked_sub(1).map(Amount::Count),
                Amount::Bytes(min) => min.checked_sub(1).map(Amount::Bytes),
            };
            let above = match limit.max {
                Amount::Time(max) => Some(Amount::Time(max + Duration::from_nanos(1))),
                Amount::Count(max) => max.checked_add(1).map(Amount::Count),
                Amount::Bytes(max) => max.checked_add(1).map(Amount::Bytes),
            };
            for amount in [limit.min, limit.max] {
                options.set(limit.name, amount).expect("it is within the bounds");
                assert_eq!(options.look(limit), Some(amount), "{}", limit.name);
            }
            for amount in below.into_iter().chain(above) {
                let error = options.set(limit.name, amount).expect_err("it is out of bounds");
                assert_eq!(error, limit.invalid(amount));
                assert_eq!(options.look(limit), Some(limit.max), "{}", limit.name);
            }
        }
    }
    check::<AppOptions>();
    check::<pointwork::ModuleLimits>();
    check::<pointwork::ModuleOptions>();
    check::<Breaker>();
    check::<Trial>();
    check::<RouterOptions>();
    check::<BusOptions>();
    check::<ServerOptions>();
    check::<Http2Options>();
    check::<CompileOptions>();
}

#[test]
fn sizes_and_numbers_are_written_in_several_ways() {
    let body = |value: &str| {
        let config = parse(&format!("limits.body = {value}")).expect("a size");
        config.app_options().router.body_limit
    };
    let sizes = [
        ("\"2MiB\"", 2 << 20),
        ("\"2MB\"", 2_000_000),
        ("\"1.5 KiB\"", 1536),
        ("1_000", 1000),
        ("0x10", 16),
    ];
    for (text, size) in sizes {
        assert_eq!(body(text), size, "{text}");
    }
}

#[test]
fn value_that_is_no_amount_says_how_it_is_written() {
    assert_eq!(
        refusal("limits.request-deadline = \"30\""),
        "`\"30\"` is invalid for `request-deadline`: expected a time above 0 and up to 100 years with its unit, as in \"30s\" or \"1m 30s\" \
         in shop/pointwork.toml:1:27"
    );
    assert_eq!(
        refusal("limits.body = \"2 potatoes\""),
        "`\"2 potatoes\"` is invalid for `body`: expected a size, as in \"2MiB\", or a number of bytes \
         in shop/pointwork.toml:1:15"
    );
    assert_eq!(
        refusal("limits.instances = 0"),
        "`0` is invalid for `instances`: expected a whole number from 1 in shop/pointwork.toml:1:20"
    );
    assert_eq!(
        refusal("limits = 1"),
        "`limits` is not a table in shop/pointwork.toml:1:10"
    );
    assert_eq!(
        refusal("[module]\npath = \"a.wasm\""),
        "`module` is not a list of tables in shop/pointwork.toml:1:1 | write `[[module]]`"
    );
}

/// The rows of a table of the page.
fn rows(limits: impl Iterator<Item = &'static Limit>, name: impl Fn(&Limit) -> String) -> String {
    let mut rows = "| name | default | allowed | bounds |\n|---|---|---|---|\n".to_owned();
    for limit in limits {
        let default = limit.default.map_or("none".to_owned(), |default| default.to_string());
        let allowed = match (limit.min, limit.max) {
            (Amount::Time(_), _) => "above 0".to_owned(),
            (min, Amount::Bytes(max) | Amount::Count(max)) if max < u64::MAX => format!("{min} to {max}"),
            (min, _) => format!("from {min}"),
        };
        // The first paragraph; a page has no use for links within the crate.
        let doc = limit.doc.split("\n\n").next().unwrap_or_default();
        let doc = doc.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let name = name(limit);
        assert!(!doc.contains("]("), "{name}: {doc}");
        writeln!(rows, "| `{name}` | {default} | {allowed} | {doc} |").expect("a string takes all");
    }
    rows
}

/// The tables of the page by their marks.
fn tables() -> Vec<(&'static str, String)> {
    let key = |limit: &Limit| limit.name.to_owned();
    let field = |limit: &Limit| format!("{}::{}", limit.group, limit.field);
    let of_all: Vec<_> = LimitTable::All.limits("").collect();
    let of_module: Vec<_> = LimitTable::Module.limits("").collect();
    let others = [AppOptions::TABLE, ServerOptions::TABLE, Http2Options::TABLE];
    vec![
        (
            "module",
            rows(of_module.iter().copied().filter(|limit| of_all.contains(limit)), key),
        ),
        ("breaker", rows(LimitTable::Module.limits("breaker"), key)),
        ("trial", rows(LimitTable::Module.limits("trial"), key)),
        (
            "one-module",
            rows(of_module.iter().copied().filter(|limit| !of_all.contains(limit)), key),
        ),
        (
            "application",
            rows(of_all.iter().copied().filter(|limit| !of_module.contains(limit)), key),
        ),
        ("compile", rows(LimitTable::Compile.limits(""), key)),
        (
            "program",
            rows(others.into_iter().flatten().filter(|limit| !limit.configurable), field),
        ),
    ]
}

#[test]
fn page_of_the_limits_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md");
    let page = std::fs::read_to_string(&file).expect("the page is there");
    let mut made = page.clone();
    for (mark, rows) in tables() {
        let (start, end) = (format!("<!-- limits: {mark} -->\n"), "<!-- end -->");
        let (before, rest) = made.split_once(&start).unwrap_or_else(|| panic!("no mark `{mark}`"));
        let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no end of `{mark}`"));
        made = format!("{before}{start}\n{rows}\n{end}{after}");
    }
    if std::env::var_os("POINTWORK_UPDATE_DOCS").is_some() {
        std::fs::write(&file, made).expect("the page is written");
    } else {
        assert!(
            page == made,
            "docs/limits.md is stale: run this test with POINTWORK_UPDATE_DOCS=1"
        );
    }
}
