//! Size, imports and exports of the component of a small module. The imports prove that the sandbox is closed.
//!
//! ```text
//! cargo test -p pointwork-guest --test component -- --nocapture
//! ```
//! prints the sizes.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use pointwork_wasi::{ADAPTER, MODULE};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldItem};

const CONTROLLERS: &str = "wasm32-wasip1";
const WASI: &str = "wasm32-wasip2";

/// Interfaces by name, each with its functions.
type Interfaces = BTreeMap<String, Vec<String>>;

/// The manifest, handlers and listeners of the synchronous form.
const EXPORTS: &[(&str, &[&str])] = &[
    ("manifest", &["describe"]),
    ("handlers", &["handle"]),
    ("listeners", &["deliver"]),
];
const EXPORTS_ASYNC: &[(&str, &[&str])] = &[
    ("manifest", &["describe"]),
    ("handlers-async", &["handle"]),
    ("listeners-async", &["deliver"]),
];

/// Every module exports handlers and listeners, so it has their resources, with the functions that it calls. The SDK
/// logs a failed call that a handler returns, and prints what the standard library keeps of the output. The standard library
/// looks for a variable before it shows a panic, and ends a process that panics twice.
const IMPORTS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("context", &["[method]context.param"]),
    ("environment", &["variables"]),
    ("events", &[]),
    ("log", &["panicked", "print", "write"]),
];
const NO_CONTROLLER: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("context", &[]),
    ("environment", &["variables"]),
    ("events", &[]),
    ("log", &["panicked", "print", "write"]),
];

#[test]
fn a_module_imports_what_it_uses_and_a_synchronous_one_nothing_asynchronous() -> Result<(), Box<dyn Error>> {
    let modules: [(&[&str], _, _, _); 6] = [
        (&[], IMPORTS, EXPORTS, 60_000),
        (&["async"], IMPORTS, EXPORTS_ASYNC, 80_000),
        (&["channel"], NO_CONTROLLER, EXPORTS, 110_000),
        (&["channel", "async"], NO_CONTROLLER, EXPORTS_ASYNC, 130_000),
        (&["full"], IMPORTS, EXPORTS, 115_000),
        (&["full", "async"], IMPORTS, EXPORTS_ASYNC, 135_000),
    ];
    for (features, expected_imports, expected_exports, most) in modules {
        let component = build(features)?;
        let (imports, exports) = surface(&component)?;
        assert_eq!(imports, interfaces(expected_imports), "{features:?}");
        assert_eq!(exports, interfaces(expected_exports), "{features:?}");
        assert!(component.len() < most, "{features:?}: {} bytes", component.len());
    }
    Ok(())
}

/// The target of channels that need files, sockets or a clock. Its toolchain builds components directly.
#[test]
fn a_channel_module_for_wasi_imports_the_contract_and_wasi() -> Result<(), Box<dyn Error>> {
    for (features, exports) in [(&["channel"][..], EXPORTS), (&["channel", "async"], EXPORTS_ASYNC)] {
        let (imports, found) = surface(&compile(WASI, features)?)?;
        let (wasi, contract): (Vec<_>, Vec<_>) = imports.into_keys().partition(|name| name.starts_with("wasi:"));
        // The standard library has the environment of WASI there.
        let expected: Vec<_> = ["context", "events", "log", "types"]
            .map(|name| format!("pointwork:module/{name}@0.2.0"))
            .into();
        assert_eq!(contract, expected);
        assert!(!wasi.is_empty(), "the target imports WASI");
        assert_eq!(found, interfaces(exports));
    }
    Ok(())
}

fn interfaces(expected: &[(&str, &[&str])]) -> Interfaces {
    let named = |&(name, functions): &(&str, &[&str])| {
        (
            format!("pointwork:module/{name}@0.2.0"),
            functions.iter().map(|&function| function.to_owned()).collect(),
        )
    };
    expected.iter().map(named).collect()
}

/// Builds `tests/hello` with these features, and converts the module into a component.
#[allow(clippy::print_stderr, reason = "prints the sizes")]
fn build(features: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let module = compile(CONTROLLERS, features)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module)?;
    let component = encoder.adapter(MODULE, ADAPTER)?.encode()?;
    eprintln!(
        "{features:?}: module {} bytes, component {} bytes",
        module.len(),
        component.len()
    );
    Ok(component)
}

/// Builds `tests/hello` with cargo.
fn compile(target: &str, features: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hello");
    // All builds share one folder, so that dependencies are built once. A test of another process must not replace the module before
    // it is read.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let one_at_a_time = File::create(folder.with_extension("lock"))?;
    one_at_a_time.lock()?;
    ensure_target(target)?;
    let built = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--target", target, "--target-dir"])
        .arg(&folder)
        .args(["--features", &features.join(",")])
        .current_dir(package)
        .env_remove("RUSTFLAGS")
        .output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into());
    }
    Ok(fs::read(folder.join(target).join("release/hello.wasm"))?)
}

fn surface(component: &[u8]) -> Result<(Interfaces, Interfaces), Box<dyn Error>> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component)? else {
        return Err("expected a component, got a package".into());
    };
    let world = &resolve.worlds[world];
    Ok((
        named(&resolve, world.imports.values()),
        named(&resolve, world.exports.values()),
    ))
}

fn named<'a>(resolve: &Resolve, items: impl Iterator<Item = &'a WorldItem>) -> Interfaces {
    let interfaces = items.filter_map(|item| match item {
        WorldItem::Interface { id, .. } => Some(*id),
        _ => None,
    });
    interfaces
        .filter_map(|id| {
            let mut functions: Vec<_> = resolve.interfaces[id].functions.keys().cloned().collect();
            functions.sort();
            Some((resolve.id_of(id)?, functions))
        })
        .collect()
}

/// Installs the target if the toolchain does not have it.
fn ensure_target(target: &str) -> Result<(), Box<dyn Error>> {
    let printed = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()?;
    let printed = String::from_utf8(printed.stdout)?;
    let libraries = Path::new(printed.trim());
    // rustup breaks off when two of it add a target; other tests take this lock too.
    let toolchain = File::open(libraries.ancestors().nth(2).ok_or("the compiler has no folder")?)?;
    toolchain.lock()?;
    if libraries.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", target]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`rustup target add {target}` failed ({other:?}); install the target by hand").into()),
    }
}
