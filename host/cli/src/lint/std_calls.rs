//! Calls of the standard library that do not work in a module without WASI.
//!
//! A call is found by the name of a function that the compiler did not inline, or by the error of unsupported functions,
//! a constant. Calls whose result the compiler knows, and whose error nobody reads, leave no trace in an optimised build:
//! `env::var("HOME").is_ok()`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::binary::CoreModule;
use super::names::{DROP, crates, is_std, readable, shown};
use super::unlisted::crate_of_module;

/// Functions of the standard library with one effect.
struct Calls {
    /// The beginnings of their readable names.
    names: &'static [&'static str],
    /// As in the source.
    shown: &'static str,
    effect: &'static str,
    instead: &'static str,
}

const LOG: &str = "write to the log with `pointwork_guest::log`";
const TIME: &str = "let a channel return the time";
const CHANNEL: &str = "let a channel do it";
const ERROR: &str = "returns an error";
const PANICS: &str = "panics";

const CALLS: &[Calls] = &[
    Calls {
        names: &["std::io::stdio::_print"],
        shown: "`println!`",
        effect: "prints nothing",
        instead: LOG,
    },
    Calls {
        names: &["std::io::stdio::_eprint"],
        shown: "`eprintln!` or `dbg!`",
        effect: "prints nothing",
        instead: LOG,
    },
    Calls {
        names: &[
            "std::io::stdio::stdout",
            "std::io::stdio::stderr",
            "std::io::stdio::Stdout",
            "std::io::stdio::Stderr",
            "<std::io::stdio::Std",
            "<&std::io::stdio::Std",
        ],
        shown: "`std::io::stdout` or `stderr`",
        effect: "writes nothing",
        instead: LOG,
    },
    Calls {
        names: &["std::io::stdio::stdin", "std::io::stdio::Stdin"],
        shown: "`std::io::stdin`",
        effect: "reads nothing",
        instead: CHANNEL,
    },
    Calls {
        names: &["std::time::SystemTime::now"],
        shown: "`SystemTime::now`",
        effect: PANICS,
        instead: TIME,
    },
    Calls {
        names: &["std::time::Instant::now", "std::time::Instant::elapsed"],
        shown: "`Instant::now`",
        effect: PANICS,
        instead: TIME,
    },
    Calls {
        names: &["std::thread::functions::sleep", "std::thread::sleep"],
        shown: "`std::thread::sleep`",
        effect: PANICS,
        instead: CHANNEL,
    },
    Calls {
        names: &[
            "std::thread::functions::spawn",
            "std::thread::spawn",
            "std::thread::scoped::",
            "std::thread::builder::",
            "std::thread::lifecycle::",
        ],
        shown: "`std::thread::spawn`",
        effect: PANICS,
        instead: "do it in the handler, or emit an event to a channel",
    },
    Calls {
        names: &[
            "std::thread::functions::park",
            "std::sys::sync::condvar::",
            "std::sync::poison::condvar::Condvar::wait",
            "std::sys::sync::thread_parking::",
        ],
        shown: "`std::thread::park`, `Condvar::wait` or `Receiver::recv`",
        effect: PANICS,
        instead: "do not wait: there is no other thread",
    },
    Calls {
        names: &["std::process::exit"],
        shown: "`std::process::exit`",
        effect: "crashes the instance without a message",
        instead: "return an error",
    },
    Calls {
        names: &["std::process::id"],
        shown: "`std::process::id`",
        effect: PANICS,
        instead: CHANNEL,
    },
    Calls {
        names: &["std::process::Command", "std::sys::process::"],
        shown: "`std::process::Command`",
        effect: ERROR,
        instead: CHANNEL,
    },
    Calls {
        names: &[
            "std::env::vars",
            "std::env::temp_dir",
            "std::env::set_var",
            "std::env::remove_var",
        ],
        shown: "`std::env::vars`, `set_var` or `temp_dir`",
        effect: PANICS,
        instead: CHANNEL,
    },
    Calls {
        names: &[
            "std::env::var",
            "std::env::_var",
            VARIABLE_ERROR,
            "<std::env::VarError",
            "std::env::args",
            "std::env::current_",
        ],
        shown: "`std::env`",
        effect: "finds nothing",
        instead: CHANNEL,
    },
    Calls {
        names: &[
            "std::fs::",
            "<std::fs::",
            "std::sys::fs::",
            "std::path::Path::exists",
            "std::path::Path::is_file",
            "std::path::Path::is_dir",
            "std::path::Path::metadata",
            "std::path::Path::read_dir",
            "std::path::Path::canonicalize",
        ],
        shown: "`std::fs`",
        effect: ERROR,
        instead: CHANNEL,
    },
    Calls {
        names: &[
            "std::net::tcp::",
            "std::net::udp::",
            "<std::net::tcp::",
            "<std::net::udp::",
            "std::sys::net::",
        ],
        shown: "`std::net`",
        effect: ERROR,
        instead: CHANNEL,
    },
];

/// The error of a variable that does not exist. Nothing but the functions for variables makes it.
const VARIABLE_ERROR: &str = "std::env::VarError";

/// An error of a function that was inlined.
const UNSUPPORTED: &Calls = &Calls {
    names: &[],
    shown: "a function of `std::fs`, `std::net`, `std::env` or `std::process`",
    effect: ERROR,
    instead: CHANNEL,
};

/// Parts of the standard library that call such functions for themselves, and do without.
const OWN: [&str; 8] = [
    "std::panicking::",
    "std::rt::",
    "std::alloc::",
    "std::backtrace",
    "std::sys::backtrace::",
    "std::sys::thread_local::",
    "core::panicking::",
    "__rustc::",
];

/// A sentence for each kind of call, with the functions that have it.
pub(super) fn warnings(module: &CoreModule<'_>) -> Vec<String> {
    let code = Code::new(module);
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (&function, name) in &code.names {
        if let Some(calls) = calls(name) {
            let users = code.users(function);
            // A pointer to it is in a table of methods, which a function has that unwraps the error.
            let is_pointed_at = users.is_empty() && name.contains(VARIABLE_ERROR);
            let unknown = is_pointed_at.then(|| "a function whose name the compiler removed".to_owned());
            found.entry(calls).or_default().extend(users.into_iter().chain(unknown));
        }
    }
    for function in unsupported(module) {
        // Its name says more.
        let is_named = code.names.get(&function).is_some_and(|name| calls(name).is_some());
        if !is_named {
            found.entry(CALLS.len()).or_default().extend(code.users(function));
        }
    }
    // A function with a named call has most likely no other.
    let named: BTreeSet<String> = found
        .range(..CALLS.len())
        .flat_map(|(_, users)| users.clone())
        .collect();
    if let Some(users) = found.get_mut(&CALLS.len()) {
        users.retain(|user| !named.contains(user));
    }
    let found = found.into_iter().filter(|(_, users)| !users.is_empty());
    found
        .map(|(calls, users)| sentence(CALLS.get(calls).unwrap_or(UNSUPPORTED), &users))
        .collect()
}

fn sentence(calls: &Calls, users: &BTreeSet<String>) -> String {
    const SHOWN: usize = 4;
    let Calls {
        shown, effect, instead, ..
    } = calls;
    let mut names = users.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if users.len() > SHOWN {
        names += &format!(" and {} more", users.len() - SHOWN);
    }
    format!("{shown} {effect} in a module without WASI, called by {names}; {instead}")
}

/// The kind of a function of the standard library.
fn calls(name: &str) -> Option<usize> {
    // The call itself is inlined.
    if name.starts_with(DROP) && name.contains(VARIABLE_ERROR) {
        return calls(VARIABLE_ERROR);
    }
    let begins = |calls: &Calls| calls.names.iter().any(|known| name.starts_with(known));
    CALLS.iter().position(begins).filter(|_| is_std(name))
}

/// The functions that have the address of the error of unsupported functions.
///
/// The text is part of a message, `{ text, length, kind }`, and that of an error, `{ 2, message }`. Code has the address of
/// either, since neither is made at run time.
fn unsupported(module: &CoreModule<'_>) -> BTreeSet<u32> {
    const TEXT: &[u8] = b"operation not supported on this platform";
    let mut addresses = HashSet::new();
    for text in module.addresses(TEXT) {
        let mut message = text.to_le_bytes().to_vec();
        message.extend((TEXT.len() as u32).to_le_bytes());
        for message in module.addresses(&message) {
            addresses.insert(message);
            let mut error = 2_u32.to_le_bytes().to_vec();
            error.extend(message.to_le_bytes());
            addresses.extend(module.addresses(&error));
        }
    }
    let constants = module
        .constants
        .iter()
        .filter(|(_, constant)| addresses.contains(constant));
    constants.map(|(function, _)| *function).collect()
}

struct Code<'a> {
    callers: &'a HashMap<u32, HashSet<u32>>,
    /// Readable.
    names: HashMap<u32, String>,
    /// The crate of the module, if it is known.
    own: Option<&'a str>,
}

impl<'a> Code<'a> {
    fn new(module: &'a CoreModule<'_>) -> Self {
        Self {
            callers: &module.callers,
            names: module
                .names
                .iter()
                .map(|(&function, name)| (function, readable(name)))
                .collect(),
            own: crate_of_module(module),
        }
    }

    /// The functions of the module's crate that call a function directly or through other crates. Without one, those of
    /// the other crates.
    fn users(&self, function: u32) -> Vec<String> {
        let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = HashSet::from([function]);
        let mut open = VecDeque::from([(function, None::<&str>)]);
        while let Some((at, through)) = open.pop_front() {
            let Some(name) = self.names.get(&at) else { continue };
            let is_start = at == function;
            if is_std(name) {
                let is_other_call = !is_start && calls(name).is_some();
                if is_other_call || OWN.iter().any(|own| name.starts_with(own)) {
                    continue;
                }
            } else if self.is_own(name) {
                own.insert(user(name, through));
                continue;
            } else {
                others.insert(user(name, None));
            }
            let through = through.or((!is_std(name)).then_some(name));
            for &caller in self.callers.get(&at).into_iter().flatten() {
                if seen.insert(caller) {
                    open.push_back((caller, through));
                }
            }
        }
        if own.is_empty() { others } else { own }.into_iter().collect()
    }

    fn is_own(&self, name: &str) -> bool {
        match self.own {
            Some(own) => crates(name).any(|name| name == own),
            None => true,
        }
    }
}

fn user(name: &str, through: Option<&str>) -> String {
    match through.filter(|name| !name.starts_with("pointwork_guest::") && !name.contains("as pointwork_guest::")) {
        Some(through) => format!("`{}` (through `{}`)", shown(name), shown(through)),
        None => format!("`{}`", shown(name)),
    }
}
