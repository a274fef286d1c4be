//! `pointwork build`: a cargo package becomes a component.
//!
//! The steps: [`package`] finds the package, [`toolchain`] ensures the target of the compiler, [`compile`] runs cargo,
//! [`component`] turns the core module into a component, [`mod@write`] replaces the file.

mod compile;
mod component;
mod package;
mod sources;
pub(crate) mod toolchain;
mod write;

use std::path::{Path, PathBuf};

use bytesize::ByteSize;

pub(crate) use self::compile::{run_in_process_group, stop};
pub(crate) use self::package::{CargoPackage, find_manifest};
pub(crate) use self::sources::newer as newer_source;
use crate::error::Result;
use crate::lint;
use crate::ui::{DONE, STRONG, Terminal, styled};

/// The target of controllers. What the standard library imports there, the adapter answers by the contract, so that the
/// component imports no WASI and the sandbox has nothing to grant.
pub(crate) const CONTROLLER_TARGET: &str = "wasm32-wasip1";

/// The cargo profile of components.
const PROFILE: &str = "release";

/// The directory of components of the dev profile, beside the optimised ones.
const DEBUG: &str = "debug";

const EXAMPLES: &str = "\
Examples:
  pointwork build                          the package of this directory, optimised
  pointwork build controllers -p shop      one package of a workspace elsewhere
  pointwork build --debug                  the dev profile: faster to build, larger, slower
  pointwork build -- --features admin      arguments after `--` go to cargo

The component goes to target/pointwork/<package>.wasm beside the Cargo.toml of the workspace,
wherever the target directory of cargo is, so that a path in pointwork.toml holds on every
machine. With --debug it goes to target/pointwork/debug/<package>.wasm, beside the optimised one.
The list of its sources goes beside it, to <package>.d, by which `pointwork serve` warns of a
component that is older than one of them.

cargo is taken from CARGO or else from PATH, the compiler from RUSTC or else from PATH.";

/// The options of `pointwork build`.
#[derive(Clone, Debug, Default, clap::Args)]
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
    /// Controllers are built for wasm32-wasip1, and import nothing but the contract. A channel module that needs files or
    /// sockets is built for wasm32-wasip2; it imports WASI, and the configuration grants what it may use.
    #[arg(long, default_value = CONTROLLER_TARGET, value_name = "TRIPLE")]
    target: String,

    /// Further arguments for `cargo build`
    #[arg(last = true, value_name = "CARGO_ARGS")]
    cargo_args: Vec<String>,

    /// The file for the component, if a configuration names it.
    #[arg(skip)]
    file: Option<PathBuf>,
}

/// The cargo profile of `pointwork dev`: quick to build, and with lines for backtraces. Dependencies are built once, and
/// optimised, so that there is less code to compile at each change.
const DEV_PROFILE: &str = "pointwork-dev";
const DEV_SETTINGS: &[&str] = &[
    "inherits = \"dev\"",
    "debug = \"line-tables-only\"",
    "incremental = true",
    "package.\"*\".opt-level = \"s\"",
    "package.\"*\".debug = false",
];

impl BuildArgs {
    /// A build of the package at `path` for development: of the profile `release`, or as fast as it gets.
    pub(crate) fn of_development(path: &Path, target: Option<&str>, release: bool) -> Self {
        let settings = DEV_SETTINGS.iter().filter(|_| !release);
        let settings = settings.flat_map(|setting| ["--config".to_owned(), format!("profile.{DEV_PROFILE}.{setting}")]);
        Self {
            path: path.to_owned(),
            profile: if release { PROFILE } else { DEV_PROFILE }.to_owned(),
            target: target.unwrap_or(CONTROLLER_TARGET).to_owned(),
            cargo_args: settings.collect(),
            ..Self::default()
        }
    }

    fn is_debug(&self) -> bool {
        self.debug || self.profile == "dev"
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The same build, for which cargo prints warnings and errors only.
    pub(crate) fn quiet(mut self) -> Self {
        self.cargo_args.push("--quiet".to_owned());
        self
    }

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
    let package = find(args, terminal)?;
    let module = compile::cargo_build(&package, args)?;
    let (bytes, form) = component::encode(&module)?;
    let path = args.file.clone().unwrap_or_else(|| {
        let default = || {
            let directory = package.workspace_root.join("target/pointwork");
            if args.is_debug() {
                directory.join(DEBUG)
            } else {
                directory
            }
        };
        let directory = args.out.clone().unwrap_or_else(default);
        directory.join(format!("{}.wasm", package.name))
    });
    sources::keep(&module, &path)?;
    write::atomically(&path, &bytes)?;
    for warning in lint::warnings(&bytes) {
        terminal.warning(warning);
    }
    Ok(Built {
        path,
        size: bytes.len(),
        form,
    })
}

/// Finds the package, and ensures that its compiler has the target.
pub(crate) fn find(args: &BuildArgs, terminal: &mut Terminal) -> Result<CargoPackage> {
    let package = package::find(&args.path, args.package.as_deref())?;
    toolchain::ensure_target(&package.directory, &args.target, terminal)?;
    Ok(package)
}

/// Builds a package into a component that is not written. The second result is the list of its sources. It blocks until
/// cargo ends.
pub(crate) fn build_in_memory(package: &CargoPackage, args: &BuildArgs) -> Result<(Vec<u8>, Vec<PathBuf>)> {
    let module = compile::cargo_build(package, args)?;
    let (bytes, _) = component::encode(&module)?;
    Ok((bytes, sources::list(&module)))
}

/// The file of the optimised component beside this one of `build --debug`.
pub(crate) fn optimised(file: &Path) -> Option<PathBuf> {
    let directory = file.parent().filter(|directory| directory.ends_with(DEBUG))?;
    Some(directory.parent()?.join(file.file_name()?))
}

/// The path relative to the current directory, if it lies below it.
pub(crate) fn relative(path: &Path) -> &Path {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}
