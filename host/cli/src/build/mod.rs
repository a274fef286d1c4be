//! `pointwork build`: a cargo package becomes a component.
//!
//! The steps: [`package`] finds the package, [`toolchain`] ensures the target of the compiler, [`compile`] runs cargo,
//! [`component`] turns the core module into a component, [`mod@write`] replaces the file.

mod compile;
mod component;
mod package;
pub(crate) mod toolchain;
mod write;

use std::path::{Path, PathBuf};

use bytesize::ByteSize;

use crate::error::Result;
use crate::ui::{DONE, STRONG, Terminal, styled};

/// The target of controllers: it has no WASI imports, so that the sandbox has nothing to grant.
pub(crate) const CONTROLLER_TARGET: &str = "wasm32-unknown-unknown";

/// The cargo profile of components.
const PROFILE: &str = "release";

const EXAMPLES: &str = "\
Examples:
  pointwork build                          the package of this directory, optimised
  pointwork build controllers -p shop      one package of a workspace elsewhere
  pointwork build --debug                  the dev profile: faster to build, larger, slower
  pointwork build -- --features admin      arguments after `--` go to cargo

The component goes to target/pointwork/<package>.wasm beside the Cargo.toml of the workspace,
wherever the target directory of cargo is, so that a path in pointwork.toml holds on every
machine.

cargo is taken from CARGO or else from PATH, the compiler from RUSTC or else from PATH.";

/// The options of `pointwork build`.
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Directory or Cargo.toml of the package
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,

    /// Package to build, if the path has several
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// Build with the dev profile instead of release
    #[arg(long, conflicts_with = "profile")]
    debug: bool,

    /// Cargo profile
    #[arg(long, default_value = PROFILE, value_name = "NAME")]
    profile: String,

    /// Directory for the component
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Target directory of cargo
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,

    /// Target of the compiler
    ///
    /// Controllers are built for wasm32-unknown-unknown. A channel module that needs files, sockets or the clock is built
    /// for wasm32-wasip2; it imports WASI, and the configuration grants what it may use.
    #[arg(long, default_value = CONTROLLER_TARGET, value_name = "TRIPLE")]
    target: String,

    /// Further arguments for `cargo build`
    #[arg(last = true, value_name = "CARGO_ARGS")]
    cargo_args: Vec<String>,

    /// The file for the component, if a configuration names it.
    #[arg(skip)]
    file: Option<PathBuf>,
}

impl BuildArgs {
    /// A release build of the package at `path` into `file`.
    pub(crate) fn of_module(path: &Path, target: Option<&str>, file: &Path) -> Self {
        Self {
            path: path.to_owned(),
            profile: PROFILE.to_owned(),
            target: target.unwrap_or(CONTROLLER_TARGET).to_owned(),
            file: Some(file.to_owned()),
            ..Self::default()
        }
    }
}

/// A component that was built and written.
#[derive(Debug)]
pub(crate) struct Built {
    path: PathBuf,
    size: usize,
    /// The form of its handlers.
    form: &'static str,
}

pub(crate) fn run(args: &BuildArgs, terminal: &mut Terminal) -> Result<()> {
    let Built { path, size, form } = build(args, terminal)?;
    terminal.line(format_args!(
        "{} {} ({}): {form}",
        styled(DONE, "built"),
        styled(STRONG, relative(&path).display()),
        ByteSize::b(size as u64).display().iec(),
    ));
    Ok(())
}

/// Builds a package and writes its component. It blocks until cargo ends.
pub(crate) fn build(args: &BuildArgs, terminal: &mut Terminal) -> Result<Built> {
    let package = package::find(&args.path, args.package.as_deref())?;
    toolchain::ensure_target(&package.directory, &args.target, terminal)?;
    let module = compile::cargo_build(&package, args)?;
    let (bytes, form) = component::encode(&module)?;
    let path = args.file.clone().unwrap_or_else(|| {
        let default = || package.workspace_root.join("target/pointwork");
        let directory = args.out.clone().unwrap_or_else(default);
        directory.join(format!("{}.wasm", package.name))
    });
    write::atomically(&path, &bytes)?;
    Ok(Built {
        path,
        size: bytes.len(),
        form,
    })
}

/// The path relative to the current directory, if it lies below it.
fn relative(path: &Path) -> &Path {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}
