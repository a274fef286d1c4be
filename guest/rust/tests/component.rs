//! Size, imports and exports of the component of a small module. The imports prove that the sandbox is closed.
//!
//! ```text
//! cargo test -p pointwork-guest --test component -- --nocapture
//! ```
//! prints the sizes.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::{Resolve, WorldItem};

const CONTROLLERS: &str = "wasm32-unknown-unknown";
const WASI: &str = "wasm32-wasip2";

/// Interfaces by name, each with its functions.
type Interfaces = BTreeMap<String, Vec<String>>;

#[test]
fn a_synchronous_module_imports_what_it_uses_and_nothing_asynchronous() -> Result<(), Box<dyn Error>> {
    let component = build(&[])?;
    let (imports, exports) = surface(&component)?;
    assert_eq!(
        imports,
        interfaces(&[
            ("types", &[]),
            ("context", &["[method]context.param"]),
            ("log", &["panicked"])
        ])
    );
    assert_eq!(
        exports,
        interfaces(&[("routes", &["declare-routes"]), ("handlers", &["handle"])])
    );
    assert!(component.len() < 40_000, "{} bytes", component.len());
    Ok(())
}

#[test]
fn an_asynchronous_module_imports_what_it_uses() -> Result<(), Box<dyn Error>> {
    let component = build(&["async"])?;
    let (imports, exports) = surface(&component)?;
    assert_eq!(
        imports,
        interfaces(&[
            ("types", &[]),
            ("context", &["[method]context.param"]),
            ("log", &["panicked"])
        ])
    );
    assert_eq!(
        exports,
        interfaces(&[("routes", &["declare-routes"]), ("handlers-async", &["handle"])])
    );
    assert!(component.len() < 60_000, "{} bytes", component.len());
    Ok(())
}

#[test]
fn a_channel_module_imports_what_it_uses_and_nothing_asynchronous() -> Result<(), Box<dyn Error>> {
    let component = build(&["channel"])?;
    let (imports, exports) = surface(&component)?;
    assert_eq!(
        imports,
        interfaces(&[("types", &[]), ("events", &[]), ("log", &["panicked"])])
    );
    assert_eq!(
        exports,
        interfaces(&[("channels", &["declare-channels"]), ("listeners", &["deliver"])])
    );
    assert!(component.len() < 75_000, "{} bytes", component.len());
    Ok(())
}

#[test]
fn an_asynchronous_channel_module_imports_what_it_uses() -> Result<(), Box<dyn Error>> {
    let component = build(&["channel", "async"])?;
    let (imports, exports) = surface(&component)?;
    assert_eq!(
        imports,
        interfaces(&[("types", &[]), ("events", &[]), ("log", &["panicked"])])
    );
    assert_eq!(
        exports,
        interfaces(&[("channels", &["declare-channels"]), ("listeners-async", &["deliver"])])
    );
    assert!(component.len() < 95_000, "{} bytes", component.len());
    Ok(())
}

#[test]
fn a_module_of_both_imports_and_exports_what_each_does() -> Result<(), Box<dyn Error>> {
    for (features, handlers, listeners) in [
        (&["full"][..], "handlers", "listeners"),
        (&["full", "async"], "handlers-async", "listeners-async"),
    ] {
        let (imports, exports) = surface(&build(features)?)?;
        assert_eq!(
            imports,
            interfaces(&[
                ("types", &[]),
                ("context", &["[method]context.param"]),
                ("events", &[]),
                ("log", &["panicked"])
            ])
        );
        assert_eq!(
            exports,
            interfaces(&[
                ("routes", &["declare-routes"]),
                (handlers, &["handle"]),
                ("channels", &["declare-channels"]),
                (listeners, &["deliver"])
            ])
        );
    }
    Ok(())
}

/// The target of channels that need files, sockets or a clock. Its toolchain builds components directly.
#[test]
fn a_channel_module_for_wasi_imports_the_contract_and_wasi() -> Result<(), Box<dyn Error>> {
    for (features, listeners) in [
        (&["channel"][..], "listeners"),
        (&["channel", "async"], "listeners-async"),
    ] {
        let (imports, exports) = surface(&compile(WASI, features)?)?;
        let (wasi, contract): (Vec<_>, Vec<_>) = imports.into_keys().partition(|name| name.starts_with("wasi:"));
        let expected = interfaces(&[("types", &[]), ("events", &[]), ("log", &[])]);
        assert_eq!(contract, expected.into_keys().collect::<Vec<_>>());
        assert!(!wasi.is_empty(), "the target imports WASI");
        assert_eq!(
            exports,
            interfaces(&[("channels", &["declare-channels"]), (listeners, &["deliver"])])
        );
    }
    Ok(())
}

fn interfaces(expected: &[(&str, &[&str])]) -> Interfaces {
    let named = |&(name, functions): &(&str, &[&str])| {
        (
            format!("pointwork:module/{name}@0.1.0"),
            functions.iter().map(|&function| function.to_owned()).collect(),
        )
    };
    expected.iter().map(named).collect()
}

/// Builds `tests/hello` with these features, and converts the module into a component.
#[allow(clippy::print_stderr, reason = "prints the sizes")]
fn build(features: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let module = compile(CONTROLLERS, features)?;
    let component = ComponentEncoder::default().validate(true).module(&module)?.encode()?;
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
    // All builds share one folder, so that dependencies are built once. Only one build may use it at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
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
            Some((
                resolve.id_of(id)?,
                resolve.interfaces[id].functions.keys().cloned().collect(),
            ))
        })
        .collect()
}

/// Installs the target if the toolchain does not have it.
fn ensure_target(target: &str) -> Result<(), Box<dyn Error>> {
    let printed = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()?;
    if Path::new(String::from_utf8(printed.stdout)?.trim()).is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", target]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`rustup target add {target}` failed ({other:?}); install the target by hand").into()),
    }
}
