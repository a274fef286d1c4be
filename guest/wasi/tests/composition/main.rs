//! Assembles the component from its source and compares it with the committed one, calls its functions, and composes it
//! with a guest.
//!
//! After a change of the source, of the contract, or of the encoder:
//!
//! ```text
//! POINTWORK_WRITE_WASI=1 cargo test --workspace --test composition
//! ```

mod compose;
mod source;
mod stand_in;

use std::path::Path;
use std::slice::from_ref;
use std::sync::LazyLock;

use pointwork_wasi::COMPONENT;
use wasmtime::Engine;
use wasmtime::component::{Component, ResourceAny, Val};

use self::stand_in::Guest;

const CANNOT_SLEEP: &str = "a controller cannot sleep: call a channel that waits";
const CANNOT_EXIT: &str = "a controller cannot end its process: return a reply instead";

#[test]
fn the_committed_component_is_that_of_the_source() {
    let assembled = source::assembled();
    if std::env::var_os("POINTWORK_WRITE_WASI").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/component.wasm");
        std::fs::write(file, &assembled).expect("the component is written");
        return;
    }
    let hint = "run `POINTWORK_WRITE_WASI=1 cargo test --workspace --test composition`";
    assert!(assembled == COMPONENT, "src/component.wasm is stale: {hint}");
}

/// An instance of the component, whose exports a test calls itself.
struct Wasi(Guest);

impl Wasi {
    fn new() -> Self {
        static COMPILED: LazyLock<(Engine, Component)> = LazyLock::new(|| {
            let engine = Engine::default();
            let component = Component::new(&engine, COMPONENT).expect("it compiles");
            (engine, component)
        });
        Self(Guest::new(&COMPILED.0, &COMPILED.1))
    }

    /// Calls a function by its name, as in `wasi:cli/exit#exit`.
    fn call(&mut self, name: &str, arguments: &[Val]) -> Result<Option<Val>, String> {
        let (interface, name) = name.split_once('#').expect("an interface and a function");
        self.0.call(Some(&format!("{interface}@0.2.12")), name, arguments)
    }

    fn value(&mut self, name: &str, arguments: &[Val]) -> Val {
        self.call(name, arguments).expect("no trap").expect("a result")
    }

    fn resource(&mut self, name: &str, arguments: &[Val]) -> ResourceAny {
        match self.value(name, arguments) {
            Val::Resource(resource) => resource,
            other => panic!("{other:?}"),
        }
    }
}

fn bytes(text: &str) -> Val {
    Val::List(text.bytes().map(Val::U8).collect())
}

fn list(numbers: impl IntoIterator<Item = u8>) -> Val {
    Val::List(numbers.into_iter().map(Val::U8).collect())
}

fn ok(value: Option<Val>) -> Val {
    Val::Result(Ok(value.map(Box::new)))
}

fn closed() -> Val {
    Val::Result(Err(Some(Box::new(Val::Variant("closed".to_owned(), None)))))
}

fn access_denied() -> Val {
    Val::Result(Err(Some(Box::new(Val::Enum("access-denied".to_owned())))))
}

#[test]
fn output_becomes_lines_of_the_log() {
    let mut wasi = Wasi::new();
    for (stream, to_error) in [("stdout", false), ("stderr", true)] {
        let stream = Val::Resource(wasi.resource(&format!("wasi:cli/{stream}#get-{stream}"), &[]));
        let method = |name| format!("wasi:io/streams#[method]output-stream.{name}");
        for name in ["write", "blocking-write-and-flush"] {
            for text in ["", "München\n", "no end"] {
                let result = wasi.value(&method(name), &[stream.clone(), bytes(text)]);
                assert_eq!(result, ok(None));
            }
        }
        for name in ["flush", "blocking-flush"] {
            assert_eq!(wasi.value(&method(name), from_ref(&stream)), ok(None));
        }
        let lines = ["München\n", "no end", "München\n", "no end"].map(|text| (to_error, text.to_owned()));
        assert_eq!(std::mem::take(&mut wasi.0.host().printed), lines);
        let room = wasi.value(&method("check-write"), from_ref(&stream));
        assert_eq!(room, ok(Some(Val::U64(32_768))));
        for name in ["write-zeroes", "blocking-write-zeroes-and-flush"] {
            assert_eq!(wasi.value(&method(name), &[stream.clone(), Val::U64(4)]), closed());
        }
    }
}

/// The host of the tests gives a memory of 1 MiB.
#[test]
fn texts_and_lists_are_freed() {
    let mut wasi = Wasi::new();
    let stream = Val::Resource(wasi.resource("wasi:cli/stdout#get-stdout", &[]));
    let text = bytes(&"x".repeat(200_000));
    wasi.0.host().variables = vec![("LONG", Box::leak("x".repeat(200_000).into_boxed_str()))];
    for _ in 0..8 {
        let write = "wasi:io/streams#[method]output-stream.write";
        assert_eq!(wasi.value(write, &[stream.clone(), text.clone()]), ok(None));
        wasi.value("wasi:cli/environment#get-environment", &[]);
        let network = wasi.resource("wasi:sockets/instance-network#instance-network", &[]);
        let name = [Val::Resource(network), Val::String("x".repeat(200_000))];
        wasi.value("wasi:sockets/ip-name-lookup#resolve-addresses", &name);
    }
    let random = "wasi:random/random#get-random-bytes";
    wasi.call(random, &[Val::U64(2 << 20)]).expect_err("more than there is");
}

#[test]
fn the_input_is_at_its_end_and_nothing_is_a_terminal() {
    let mut wasi = Wasi::new();
    let input = Val::Resource(wasi.resource("wasi:cli/stdin#get-stdin", &[]));
    for name in ["read", "blocking-read", "skip", "blocking-skip"] {
        let name = format!("wasi:io/streams#[method]input-stream.{name}");
        assert_eq!(wasi.value(&name, &[input.clone(), Val::U64(64)]), closed());
    }
    let output = Val::Resource(wasi.resource("wasi:cli/stdout#get-stdout", &[]));
    for name in ["splice", "blocking-splice"] {
        let name = format!("wasi:io/streams#[method]output-stream.{name}");
        let arguments = [output.clone(), input.clone(), Val::U64(64)];
        assert_eq!(wasi.value(&name, &arguments), closed());
    }
    for name in ["stdin", "stdout", "stderr"] {
        let name = format!("wasi:cli/terminal-{name}#get-terminal-{name}");
        assert_eq!(wasi.value(&name, &[]), Val::Option(None));
    }
}

fn datetime(seconds: u64, nanoseconds: u32) -> Val {
    let seconds = ("seconds".to_owned(), Val::U64(seconds));
    Val::Record(vec![seconds, ("nanoseconds".to_owned(), Val::U32(nanoseconds))])
}

#[test]
fn clocks_are_those_of_the_contract() {
    let mut wasi = Wasi::new();
    assert_eq!(wasi.value("wasi:clocks/wall-clock#now", &[]), datetime(0, 0));
    wasi.0.host().clocks = [(1_700_000_000, 5), (12, 999_999_999)];
    assert_eq!(
        wasi.value("wasi:clocks/wall-clock#now", &[]),
        datetime(1_700_000_000, 5)
    );
    assert_eq!(
        wasi.value("wasi:clocks/monotonic-clock#now", &[]),
        Val::U64(12_999_999_999)
    );
    assert_eq!(wasi.value("wasi:clocks/wall-clock#resolution", &[]), datetime(0, 1));
    assert_eq!(wasi.value("wasi:clocks/monotonic-clock#resolution", &[]), Val::U64(1));
}

#[test]
fn random_bits_are_those_of_the_contract() {
    let mut wasi = Wasi::new();
    for name in ["random", "insecure"] {
        let bits = if name == "random" { "random" } else { "insecure-random" };
        for (count, drawn) in [(0, 0), (1, 4), (4, 4), (9, 12)] {
            let first = u8::try_from(wasi.0.host().drawn()).expect("a few");
            let result = wasi.value(&format!("wasi:random/{name}#get-{bits}-bytes"), &[Val::U64(count)]);
            let last = first + u8::try_from(count).expect("a few");
            assert_eq!(result, list(first + 1..=last));
            assert_eq!(wasi.0.host().drawn(), u32::from(first) + drawn);
        }
    }
    let mut wasi = Wasi::new();
    let (first, second) = (Val::U64(0x0807_0605_0403_0201), Val::U64(0x100f_0e0d_0c0b_0a09));
    assert_eq!(wasi.value("wasi:random/random#get-random-u64", &[]), first);
    assert_eq!(wasi.value("wasi:random/insecure#get-insecure-random-u64", &[]), second);
    let mut wasi = Wasi::new();
    let seed = wasi.value("wasi:random/insecure-seed#insecure-seed", &[]);
    assert_eq!(seed, Val::Tuple(vec![first, second]));
}

#[test]
fn variables_are_those_of_the_contract_and_there_are_no_arguments() {
    let mut wasi = Wasi::new();
    let variables = "wasi:cli/environment#get-environment";
    assert_eq!(wasi.value(variables, &[]), Val::List(vec![]));
    // A name with `=` is none of a variable.
    wasi.0.host().variables = vec![
        ("MODE", "test"),
        ("=other", "x"),
        ("EMPTY", ""),
        ("PLACE", "München"),
        ("=program", "import json"),
    ];
    let pairs = [("MODE", "test"), ("EMPTY", ""), ("PLACE", "München")];
    let pairs = pairs.map(|(name, value)| Val::Tuple([name, value].map(|text| Val::String(text.to_owned())).into()));
    for _ in 0..2 {
        assert_eq!(wasi.value(variables, &[]), Val::List(pairs.to_vec()));
    }
    assert_eq!(wasi.value("wasi:cli/environment#get-arguments", &[]), Val::List(vec![]));
    assert_eq!(wasi.value("wasi:cli/environment#initial-cwd", &[]), Val::Option(None));
}

#[test]
fn no_folder_is_open_and_no_socket_is_made() {
    let mut wasi = Wasi::new();
    let folders = wasi.value("wasi:filesystem/preopens#get-directories", &[]);
    assert_eq!(folders, Val::List(vec![]));
    let network = wasi.resource("wasi:sockets/instance-network#instance-network", &[]);
    let name = [Val::Resource(network), Val::String("localhost".to_owned())];
    let addresses = wasi.value("wasi:sockets/ip-name-lookup#resolve-addresses", &name);
    assert_eq!(addresses, access_denied());
    for kind in ["tcp", "udp"] {
        let name = format!("wasi:sockets/{kind}-create-socket#create-{kind}-socket");
        assert_eq!(wasi.value(&name, &[Val::Enum("ipv4".to_owned())]), access_denied());
    }
}

fn expect_trap(wasi: &mut Wasi, name: &str, arguments: &[Val], sentence: &str) {
    let trap = wasi.call(name, arguments).expect_err("a trap");
    assert!(trap.contains("unreachable"), "{trap}");
    assert_eq!(wasi.0.host().crash.as_deref(), Some(sentence));
}

#[test]
fn sleeping_traps_with_a_sentence() {
    const MONOTONIC: &str = "wasi:clocks/monotonic-clock";
    for (name, time) in [("subscribe-duration", 1), ("subscribe-instant", 1_000_000_001)] {
        for wait in ["wasi:io/poll#[method]pollable.block", "wasi:io/poll#poll"] {
            let mut wasi = Wasi::new();
            wasi.0.host().clocks[1] = (1, 0);
            let timer = Val::Resource(wasi.resource(&format!("{MONOTONIC}#{name}"), &[Val::U64(time)]));
            let ready = wasi.value("wasi:io/poll#[method]pollable.ready", from_ref(&timer));
            assert_eq!(ready, Val::Bool(false));
            let argument = if wait.ends_with("#poll") {
                Val::List(vec![timer])
            } else {
                timer
            };
            expect_trap(&mut wasi, wait, &[argument], CANNOT_SLEEP);
        }
    }
}

#[test]
fn what_is_ready_is_not_waited_for() {
    let mut wasi = Wasi::new();
    wasi.0.host().clocks[1] = (1, 0);
    let mut timer = |name: &str, time| {
        let name = format!("wasi:clocks/monotonic-clock#{name}");
        Val::Resource(wasi.resource(&name, &[Val::U64(time)]))
    };
    let late = timer("subscribe-duration", 1);
    let now = timer("subscribe-instant", 1_000_000_000);
    let zero = timer("subscribe-duration", 0);
    let output = wasi.resource("wasi:cli/stdout#get-stdout", &[]);
    let stream = wasi.resource(
        "wasi:io/streams#[method]output-stream.subscribe",
        &[Val::Resource(output)],
    );
    let stream = Val::Resource(stream);
    let ready = wasi.value(
        "wasi:io/poll#poll",
        &[Val::List(vec![late, now.clone(), zero, stream.clone()])],
    );
    assert_eq!(ready, Val::List([1, 2, 3].map(Val::U32).into()));
    for pollable in [now, stream] {
        let block = wasi.call("wasi:io/poll#[method]pollable.block", &[pollable]);
        assert_eq!(block, Ok(None));
    }
    assert_eq!(wasi.0.host().crash, None);
}

#[test]
fn ending_the_process_traps_with_a_sentence() {
    let success = Val::Result(Ok(None));
    for (name, argument) in [("exit", success), ("exit-with-code", Val::U8(3))] {
        let name = format!("wasi:cli/exit#{name}");
        expect_trap(&mut Wasi::new(), &name, &[argument], CANNOT_EXIT);
    }
}
