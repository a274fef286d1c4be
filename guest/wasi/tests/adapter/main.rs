//! Assembles the adapter from its source and compares it with the committed one, and calls the functions of both.
//!
//! After a change of the source or of the contract:
//!
//! ```text
//! POINTWORK_WRITE_WASI=1 cargo test --workspace --test adapter
//! ```

mod source;
mod stand_in;

use std::collections::BTreeMap;
use std::path::Path;

use pointwork_wasi::ADAPTER;
use wasmparser::{Parser, Payload};
use wasmtime::{Engine, ExternType, Module};

use self::stand_in::Guest;

const UPDATE: &str = "run `POINTWORK_WRITE_WASI=1 cargo test --workspace --test adapter`";

const SUCCESS: i32 = 0;
const BADF: i32 = 8;
const NOTSUP: i32 = 58;

/// Every function of `wasi_snapshot_preview1` with its parameters: `i` has 32 bits, `l` 64. All but `proc_exit` return an
/// error number.
const FUNCTIONS: &[(&str, &str)] = &[
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_prestat_get", "ii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_exit", "i"),
    ("proc_raise", "i"),
    ("random_get", "ii"),
    ("sched_yield", ""),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
];

/// The functions that trap with a sentence, `poll_oneoff` with a clock alone.
const TRAPS: &[&str] = &["poll_oneoff", "proc_exit", "proc_raise"];

/// The names and types of a module's imports and exports.
fn outline(module: &Module) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let show = |ty: ExternType| match ty {
        ExternType::Func(ty) => format!("{ty}"),
        other => format!("{other:?}"),
    };
    let imports = module
        .imports()
        .map(|import| (format!("{} {}", import.module(), import.name()), show(import.ty())));
    let exports = module
        .exports()
        .map(|export| (export.name().to_owned(), show(export.ty())));
    (imports.collect(), exports.collect())
}

fn compiled(adapter: &[u8]) -> Module {
    Module::new(&Engine::default(), adapter).expect("the adapter is a module")
}

/// Tests the source and the committed adapter.
fn both(test: impl Fn(&Module)) {
    test(&compiled(&source::assembled()));
    test(&compiled(ADAPTER));
}

#[test]
fn the_committed_adapter_is_that_of_the_source() {
    let assembled = source::assembled();
    if std::env::var_os("POINTWORK_WRITE_WASI").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapter.wasm");
        std::fs::write(file, &assembled).expect("the adapter is written");
        return;
    }
    let (assembled, committed) = (compiled(&assembled), compiled(ADAPTER));
    assert_eq!(outline(&assembled), outline(&committed), "{UPDATE}");
    assert_eq!(transcript(&assembled), transcript(&committed), "{UPDATE}");
}

/// The results of many calls, each on a fresh guest: every function with small numbers, on each standard stream and on a
/// descriptor that is not open.
fn transcript(adapter: &Module) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, parameters) in FUNCTIONS {
        for first in [0, 1, 2, 3] {
            let mut guest = Guest::new(adapter);
            guest.set_variables(&[("MODE", "test")]);
            let arguments: Vec<i64> = (0..parameters.len())
                .map(|at| if at == 0 { first } else { 64 * at as i64 })
                .collect();
            // The numbers of functions and places in a trap may differ.
            let result = guest.call(name, &arguments).map_err(|_| "a trap");
            let (printed, crash) = (guest.printed(), guest.crash().map(str::to_owned));
            lines.push(format!(
                "{name} {first}: {result:?} {printed:?} {crash:?} {:?}",
                guest.bytes(0, 1024)
            ));
        }
    }
    lines
}

#[test]
fn every_function_of_preview_1_is_there() {
    both(|adapter| {
        let (_, mut exports) = outline(adapter);
        exports.remove("cabi_import_realloc").expect("wit-component needs it");
        let names: Vec<_> = FUNCTIONS.iter().map(|&(name, _)| name).collect();
        assert_eq!(exports.into_keys().collect::<Vec<_>>(), names);
        for (name, parameters) in FUNCTIONS {
            let found = stand_in::signature(adapter, name);
            let result = if *name == "proc_exit" { "" } else { "i" };
            assert_eq!(found, format!("{parameters}>{result}"), "{name}");
        }
    });
}

/// With a stack, data or tables the encoder would refuse the adapter, or give each instance 64 KiB more.
#[test]
fn it_has_no_stack_data_or_tables() {
    for adapter in [&source::assembled(), ADAPTER] {
        for payload in Parser::new(0).parse_all(adapter) {
            let payload = payload.expect("the adapter is valid");
            let is_refused = matches!(
                payload,
                Payload::DataSection(_)
                    | Payload::ElementSection(_)
                    | Payload::TableSection(_)
                    | Payload::MemorySection(_)
            );
            assert!(!is_refused, "{payload:?}");
        }
        assert!(!adapter.windows(15).any(|name| name == b"__stack_pointer"));
    }
}

#[test]
fn output_goes_to_the_log_piece_by_piece() {
    both(|adapter| {
        let mut guest = Guest::new(adapter);
        guest.put(100, b"one\ntwo");
        // Two pieces, and an empty one between them.
        guest.put_numbers(200, &[100, 4, 0, 0, 104, 3]);
        for (fd, is_error) in [(1, false), (2, true)] {
            assert_eq!(guest.call("fd_write", &[fd, 200, 3, 300]), Ok(Some(SUCCESS)));
            assert_eq!(guest.number(300), 7);
            assert_eq!(
                guest.printed(),
                [(is_error, "one\n".to_owned()), (is_error, "two".to_owned())]
            );
        }
        for fd in [0, 3, -1] {
            assert_eq!(guest.call("fd_write", &[fd, 200, 3, 300]), Ok(Some(BADF)));
        }
        assert!(guest.printed().is_empty());
    });
}

#[test]
fn both_clocks_are_those_of_the_call_and_memory_stays_as_it_was() {
    both(|adapter| {
        let mut guest = Guest::new(adapter);
        guest.set_clocks([(1_700_000_000, 123_456_789), (1_700_003_600, 5)]);
        guest.put(0, b"what was here before");
        for (clock, time) in [(0, 1_700_000_000_123_456_789), (1, 1_700_003_600_000_000_005)] {
            assert_eq!(guest.call("clock_time_get", &[clock, 1, 64]), Ok(Some(SUCCESS)));
            assert_eq!(guest.long(64), time);
            assert_eq!(guest.bytes(0, 20), b"what was here before");
            assert_eq!(guest.call("clock_res_get", &[clock, 64]), Ok(Some(SUCCESS)));
            assert_eq!(guest.long(64), 1);
        }
        for clock in [2, 3, 9] {
            assert_eq!(guest.call("clock_time_get", &[clock, 1, 64]), Ok(Some(NOTSUP)));
            assert_eq!(guest.call("clock_res_get", &[clock, 64]), Ok(Some(NOTSUP)));
        }
    });
}

#[test]
fn random_bytes_fill_exactly_what_was_asked_for() {
    both(|adapter| {
        for length in 0..=9 {
            let mut guest = Guest::new(adapter);
            guest.put(99, &[0xff; 12]);
            assert_eq!(guest.call("random_get", &[100, length]), Ok(Some(SUCCESS)));
            let length = usize::try_from(length).expect("small");
            // The stand-in counts: 0x04030201, 0x08070605 …
            let mut expected = vec![0xff];
            expected.extend((1..=length).map(|byte| byte as u8));
            expected.extend(vec![0xff; 11 - length]);
            assert_eq!(guest.bytes(99, 12), expected);
        }
    });
}

#[test]
fn variables_come_from_the_contract_and_are_fetched_until_there_are_some() {
    both(|adapter| {
        let mut guest = Guest::new(adapter);
        assert_eq!(guest.call("environ_sizes_get", &[64, 68]), Ok(Some(SUCCESS)));
        assert_eq!((guest.number(64), guest.number(68)), (0, 0));
        assert_eq!(guest.call("environ_get", &[64, 128]), Ok(Some(SUCCESS)));

        guest.set_variables(&[("MODE", "test"), ("EMPTY", ""), ("PLACE", "München")]);
        assert_eq!(guest.call("environ_sizes_get", &[64, 68]), Ok(Some(SUCCESS)));
        let expected = "MODE=test\0EMPTY=\0PLACE=München\0".as_bytes();
        assert_eq!((guest.number(64), guest.number(68)), (3, expected.len() as u32));
        assert_eq!(guest.call("environ_get", &[64, 128]), Ok(Some(SUCCESS)));
        assert_eq!(guest.bytes(128, expected.len()), expected);
        assert_eq!([64, 68, 72].map(|at| guest.number(at)), [128, 138, 145]);

        let allocated = guest.allocated();
        assert_eq!(guest.call("environ_get", &[64, 128]), Ok(Some(SUCCESS)));
        assert_eq!(guest.allocated(), allocated, "the list is kept");
    });
}

#[test]
fn there_are_no_arguments_and_the_input_is_at_its_end() {
    both(|adapter| {
        let mut guest = Guest::new(adapter);
        guest.put_numbers(64, &[7, 7, 7]);
        assert_eq!(guest.call("args_sizes_get", &[64, 68]), Ok(Some(SUCCESS)));
        assert_eq!(guest.call("args_get", &[128, 128]), Ok(Some(SUCCESS)));
        assert_eq!(guest.call("fd_read", &[0, 128, 1, 72]), Ok(Some(SUCCESS)));
        assert_eq!([64, 68, 72].map(|at| guest.number(at)), [0, 0, 0]);
        assert_eq!(guest.call("fd_read", &[1, 128, 1, 72]), Ok(Some(BADF)));
    });
}

#[test]
fn streams_are_open_and_are_no_terminals() {
    both(|adapter| {
        for (fd, rights) in [(0, 0x2), (1, 0x40), (2, 0x40)] {
            let mut guest = Guest::new(adapter);
            guest.put(64, &[0xff; 72]);
            assert_eq!(guest.call("fd_fdstat_get", &[fd, 64]), Ok(Some(SUCCESS)));
            // The first byte is the type of the file: 2 would be a terminal.
            assert_eq!(
                (guest.long(64), guest.long(72), guest.long(80), guest.bytes(88, 1)[0]),
                (0, rights, 0, 0xff)
            );
            assert_eq!(guest.call("fd_filestat_get", &[fd, 64]), Ok(Some(SUCCESS)));
            assert_eq!(guest.bytes(64, 64), [0; 64]);
            assert_eq!(guest.bytes(128, 1), [0xff]);
            assert_eq!(guest.call("fd_close", &[fd]), Ok(Some(SUCCESS)));
        }
    });
}

/// C libraries look for the folders that are open from 3 on, until one is not: every path lacks a folder then.
#[test]
fn files_and_sockets_are_errors_and_never_traps() {
    both(|adapter| {
        let about_files =
            |name: &str| name.starts_with("fd_") || name.starts_with("path_") || name.starts_with("sock_");
        for &(name, parameters) in FUNCTIONS.iter().filter(|(name, _)| about_files(name)) {
            let mut guest = Guest::new(adapter);
            let mut arguments = vec![64; parameters.len()];
            // The folder of a symbolic link comes after the text.
            arguments[if name == "path_symlink" { 2 } else { 0 }] = 3;
            assert_eq!(guest.call(name, &arguments), Ok(Some(BADF)), "{name}");
        }
        let mut guest = Guest::new(adapter);
        for name in ["fd_prestat_get", "fd_prestat_dir_name"] {
            for fd in [0, 3, 4] {
                let arguments: &[i64] = if name == "fd_prestat_get" {
                    &[fd, 64]
                } else {
                    &[fd, 64, 1]
                };
                assert_eq!(guest.call(name, arguments), Ok(Some(BADF)), "{name} {fd}");
            }
        }
    });
}

#[test]
fn sleeping_and_ending_the_process_trap_with_a_sentence() {
    both(|adapter| {
        for (&name, sentence) in TRAPS.iter().zip([
            "a controller cannot sleep: call a channel that waits",
            "a controller cannot end its process: return a reply instead",
            "a controller cannot raise a signal: return a reply instead",
        ]) {
            let mut guest = Guest::new(adapter);
            // Two subscriptions: a descriptor, and a clock.
            guest.put(64 + 8, &[1]);
            let arguments: &[i64] = if name == "poll_oneoff" {
                &[64, 256, 2, 512]
            } else {
                &[1]
            };
            let trap = guest.call(name, arguments).expect_err("a trap");
            assert!(trap.contains("unreachable"), "{trap}");
            assert_eq!(guest.crash(), Some(sentence));
        }
    });
}

#[test]
fn waiting_for_descriptors_alone_is_an_error_and_yielding_goes_on() {
    both(|adapter| {
        let mut guest = Guest::new(adapter);
        guest.put(64 + 8, &[1]);
        assert_eq!(guest.call("poll_oneoff", &[64, 256, 1, 512]), Ok(Some(NOTSUP)));
        assert_eq!(guest.call("sched_yield", &[]), Ok(Some(SUCCESS)));
        assert_eq!(guest.crash(), None);
    });
}
