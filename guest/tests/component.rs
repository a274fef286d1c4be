//! What the component of a small module weighs, imports and exports: the sandbox's proof stands on the imports.
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

const TARGET: &str = "wasm32-unknown-unknown";

/// Names of the interfaces, each with its functions.
type Interfaces = BTreeMap<String, Vec<String>>;

#[test]
fn a_synchronous_module_imports_what_it_uses_and_nothing_asynchronous() -> Result<(), Box<dyn Error>> {
    let component = build("sync", &[])?;
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
    let component = build("async", &["--features", "async"])?;
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

fn interfaces(expected: &[(&str, &[&str])]) -> Interfaces {
    let named = |&(name, functions): &(&str, &[&str])| {
        (
            format!("pointwork:module/{name}@0.1.0"),
            functions.iter().map(|&function| function.to_owned()).collect(),
        )
    };
    expected.iter().map(named).collect()
}

/// Builds `tests/hello` as a user would, and makes a component of it.
#[allow(clippy::print_stderr, reason = "the sizes are for people")]
fn build(form: &str, arguments: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hello");
    // One folder for both, so that what they share is built once; so one at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hello");
    ensure_target()?;
    let built = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .args(arguments)
        .current_dir(package)
        .env_remove("RUSTFLAGS")
        .output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into());
    }
    let module = fs::read(target.join("wasm32-unknown-unknown/release/hello.wasm"))?;
    let component = ComponentEncoder::default().validate(true).module(&module)?.encode()?;
    eprintln!(
        "{form}: module {} bytes, component {} bytes",
        module.len(),
        component.len()
    );
    Ok(component)
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

/// Installs the target if the toolchain lacks it.
fn ensure_target() -> Result<(), Box<dyn Error>> {
    let printed = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()?;
    if Path::new(String::from_utf8(printed.stdout)?.trim()).is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`rustup target add {TARGET}` failed ({other:?}); install the target by hand").into()),
    }
}
