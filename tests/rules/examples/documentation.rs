//! Builds the documentation of every library, runs the examples in it, and compares the public API of each published crate with the
//! file `api.txt` beside its `Cargo.toml`.
//!
//! ```text
//! cargo run -p pointwork-rules --example documentation
//! POINTWORK_WRITE_API=1 cargo run -p pointwork-rules --example documentation      # after a change of an API that is meant
//! ```
//!
//! `cargo doc` would check all 550 dependencies again, because it does not use what `cargo test` has built. `cargo test --doc` uses
//! it. So this program calls `cargo test --doc` and is the `rustdoc` that cargo starts there: for each library it starts the real
//! rustdoc three times, to run the examples, to write HTML, and to write JSON. rustdoc writes JSON on a stable toolchain only with
//! `RUSTC_BOOTSTRAP`. In the environment of cargo this variable would make cargo build dependencies again.
#![allow(
    clippy::print_stdout,
    reason = "the difference is what a reader of the failure needs"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{MetadataCommand, TargetKind};
use pointwork_rules::root;
use public_api::Builder;

/// The environment variable that names the real rustdoc to this program in its place.
const RUSTDOC: &str = "POINTWORK_RUSTDOC";
/// The environment variable that names the folder of the documentation.
const OUTPUT: &str = "POINTWORK_RUSTDOC_OUTPUT";
const WRITE: &str = "POINTWORK_WRITE_API";

fn main() -> Result<ExitCode> {
    if let Some(rustdoc) = env::var_os(RUSTDOC) {
        return run_rustdoc(&rustdoc);
    }
    let crates = published_crates()?;
    document(&crates)?;
    let mut stale = false;
    for of_crate in &crates.published {
        let found = api(&of_crate.json)?;
        let file = of_crate.manifest.with_file_name("api.txt");
        let kept = fs::read_to_string(&file).unwrap_or_default();
        if kept == found {
            continue;
        }
        if env::var_os(WRITE).is_some() {
            fs::write(&file, found)?;
        } else {
            stale = true;
            print_difference(&file, &kept, &found);
        }
    }
    println!("the public API of {} crates was compared", crates.published.len());
    Ok(if stale { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs the real rustdoc with the arguments of cargo, and then for the documentation.
fn run_rustdoc(rustdoc: &OsString) -> Result<ExitCode> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let mut runs = vec![(arguments.clone(), false)];
    if arguments.iter().any(|argument| argument == "--test") {
        let output = env::var_os(OUTPUT).context("the folder of the documentation is not set")?;
        let mut html = without_test_options(arguments);
        html.extend(["--out-dir".into(), output]);
        let mut json = html.clone();
        html.extend(["-D".into(), "warnings".into()]);
        json.extend([
            "-Zunstable-options".into(),
            "--output-format=json".into(),
            "--cap-lints=allow".into(),
        ]);
        runs.extend([(html, false), (json, true)]);
    }
    for (arguments, unstable) in runs {
        let mut command = Command::new(rustdoc);
        command.args(arguments);
        if unstable {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        if !command.status()?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments for the documentation of the crate whose examples `arguments` would run.
fn without_test_options(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--test" | "--no-run" | "--nocapture") => {}
            Some("--test-run-directory" | "--test-args" | "--test-runtool" | "--test-builder") => {
                drop(arguments.next())
            }
            Some(option) if option.starts_with("--test-") => {}
            _ => kept.push(argument),
        }
    }
    kept
}

/// The libraries that are to be published.
struct Crates {
    published: Vec<PublishedCrate>,
    output: PathBuf,
}

struct PublishedCrate {
    manifest: PathBuf,
    /// The file of its JSON.
    json: PathBuf,
}

fn published_crates() -> Result<Crates> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let output = PathBuf::from(metadata.target_directory.join("documentation"));
    let mut published = Vec::new();
    for package in &metadata.packages {
        let is_published = package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
        let is_library = |kind: &TargetKind| matches!(kind, TargetKind::Lib | TargetKind::ProcMacro);
        let library = package.targets.iter().find(|target| target.kind.iter().any(is_library));
        if let Some(library) = library.filter(|_| is_published) {
            published.push(PublishedCrate {
                manifest: package.manifest_path.clone().into(),
                json: output.join(library.name.replace('-', "_") + ".json"),
            });
        }
    }
    ensure!(!published.is_empty(), "the workspace has no library");
    Ok(Crates { published, output })
}

/// Runs the examples and writes the documentation of every library.
fn document(crates: &Crates) -> Result<()> {
    for of_crate in &crates.published {
        // A JSON file of an earlier run would hide that rustdoc did not run.
        let _ = fs::remove_file(&of_crate.json);
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let status = Command::new(cargo)
        .args(["test", "--workspace", "--doc", "--locked", "--no-fail-fast"])
        .current_dir(root())
        .env(RUSTDOC, rustdoc)
        .env(OUTPUT, &crates.output)
        .env("RUSTDOC", env::current_exe()?)
        .status()?;
    ensure!(
        status.success(),
        "the examples or the documentation of a library failed: {status}"
    );
    Ok(())
}

/// One line for each public item, without the traits that every type has or that `derive` gave it.
fn api(json: &Path) -> Result<String> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build();
    let api = api.with_context(|| {
        let json = json.display();
        format!("`{json}` cannot be read, expected the JSON of rustdoc 1.95: `public-api` has to follow the toolchain")
    })?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

fn print_difference(file: &Path, kept: &str, found: &str) {
    println!("{} differs; `{WRITE}=1` writes it again:", file.display());
    for (sign, one, other) in [('-', kept, found), ('+', found, kept)] {
        for line in one.lines().filter(|line| !other.lines().any(|known| known == *line)) {
            println!("{sign} {line}");
        }
    }
}
