//! Compares the public API of each crate with the file `api.txt` beside its `Cargo.toml`.
//!
//! After a change of an API that is meant: `POINTWORK_WRITE_API=1 cargo test -p pointwork-rules --test api`.
//!
//! rustdoc writes JSON on a stable toolchain only with `RUSTC_BOOTSTRAP`. In the environment of cargo this variable would
//! make it build dependencies again. So this program is the `rustdoc` that cargo calls, and sets it for the real one.

#![allow(
    clippy::print_stdout,
    reason = "the difference is what a reader of the failure needs"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{MetadataCommand, TargetKind};
use pointwork_rules::root;
use public_api::Builder;

/// Names the real rustdoc to this program in its place.
const RUSTDOC: &str = "POINTWORK_RUSTDOC";
const WRITE: &str = "POINTWORK_WRITE_API";

fn main() -> Result<ExitCode> {
    if let Some(rustdoc) = env::var_os(RUSTDOC) {
        let mut command = Command::new(rustdoc);
        command.args(env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1");
        return Ok(if command.status()?.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let crates = crates()?;
    document()?;
    let mut stale = false;
    for (manifest, json) in &crates {
        let found = api(json)?;
        let file = manifest.with_file_name("api.txt");
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
    println!("the public API of {} crates was compared", crates.len());
    Ok(if stale { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The manifest of each library that is to be published, and the file of its JSON.
fn crates() -> Result<Vec<(PathBuf, PathBuf)>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()?;
    let mut crates = Vec::new();
    for package in &metadata.packages {
        let is_published = package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
        let is_library = |kind: &TargetKind| matches!(kind, TargetKind::Lib | TargetKind::ProcMacro);
        let library = package.targets.iter().find(|target| target.kind.iter().any(is_library));
        if let Some(library) = library.filter(|_| is_published) {
            let json = metadata
                .target_directory
                .join("doc")
                .join(library.name.replace('-', "_") + ".json");
            crates.push((package.manifest_path.clone().into(), json.into()));
        }
    }
    ensure!(!crates.is_empty(), "the workspace has no library");
    Ok(crates)
}

/// Writes the JSON of every library.
fn document() -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let status = Command::new(cargo)
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--lib", "--locked"])
        .current_dir(root())
        .env(RUSTDOC, rustdoc)
        .env("RUSTDOC", env::current_exe()?)
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json")
        .status()?;
    ensure!(
        status.success(),
        "`cargo doc` with the output format JSON failed: {status}"
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
