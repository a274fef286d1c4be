//! `pointwork build`: a cargo package becomes a component.
//!
//! The steps, one module each: [`package`] finds what to build, [`toolchain`] sees to the compiler's target, [`compile`]
//! runs cargo, [`component`] turns the core module into a component, and [`mod@write`] puts it in its place in one move.

mod compile;
mod component;
mod package;
mod toolchain;
mod write;

use std::path::{Path, PathBuf};

use bytesize::ByteSize;

use crate::error::Result;
use crate::ui::{DONE, STRONG, Terminal, styled};

/// The target that controllers are compiled for: no WASI import at all, so that the sandbox has nothing to grant.
const CONTROLLER_TARGET: &str = "wasm32-unknown-unknown";

const EXAMPLES: &str = "\
Examples:
  pointwork build                          the package of this directory, optimised
  pointwork build controllers -p shop      one package of a workspace elsewhere
  pointwork build --debug                  the dev profile: faster to build, larger, slower
  pointwork build -- --features admin      anything after `--` goes to cargo

The component goes to target/pointwork/<package>.wasm beside the workspace's Cargo.toml, wherever
cargo's own target directory is, so that a path in pointwork.toml holds on every machine.

cargo is the one that CARGO names, or the one in PATH; the compiler likewise with RUSTC.";

/// The options of `pointwork build`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The package: its directory or its Cargo.toml
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,

    /// The package to build, where the path holds several
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// Build with the dev profile instead of release
    #[arg(long, conflicts_with = "profile")]
    debug: bool,

    /// The cargo profile
    #[arg(long, default_value = "release", value_name = "NAME")]
    profile: String,

    /// The directory for the component
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// The directory for what cargo builds on the way
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,

    /// The target of the compiler
    ///
    /// wasm32-unknown-unknown is right for controllers. A channel module that needs files, sockets or the clock is built
    /// for wasm32-wasip2 and imports WASI, of which the configuration grants it what it may use.
    #[arg(long, default_value = CONTROLLER_TARGET, value_name = "TRIPLE")]
    target: String,

    /// Further arguments for `cargo build`
    #[arg(last = true, value_name = "CARGO_ARGS")]
    cargo_args: Vec<String>,
}

/// One build, as the command line or a configuration asks for it.
#[derive(Debug)]
pub(crate) struct Request {
    /// The package's directory or its Cargo.toml.
    pub(crate) path: PathBuf,
    /// The package, where the path holds several.
    pub(crate) package: Option<String>,
    /// The cargo profile.
    pub(crate) profile: String,
    /// Where the component goes.
    pub(crate) output: Output,
    /// Where cargo builds; `None` leaves that to cargo.
    pub(crate) target_dir: Option<PathBuf>,
    /// The compiler's target.
    pub(crate) target: String,
    /// Further arguments for `cargo build`.
    pub(crate) cargo_args: Vec<String>,
}

/// Where a component goes.
#[derive(Debug)]
pub(crate) enum Output {
    /// `target/pointwork/<package>.wasm` beside the workspace's Cargo.toml.
    Default,
    /// `<package>.wasm` in this directory.
    Directory(PathBuf),
    /// This very file.
    File(PathBuf),
}

impl Request {
    /// A release build of the package at `path`, for the target of controllers.
    pub(crate) fn new(path: impl Into<PathBuf>, output: Output) -> Self {
        Self {
            path: path.into(),
            package: None,
            profile: "release".to_owned(),
            output,
            target_dir: None,
            target: CONTROLLER_TARGET.to_owned(),
            cargo_args: Vec::new(),
        }
    }
}

impl From<&Args> for Request {
    fn from(args: &Args) -> Self {
        Self {
            package: args.package.clone(),
            profile: if args.debug {
                "dev".to_owned()
            } else {
                args.profile.clone()
            },
            target_dir: args.target_dir.clone(),
            target: args.target.clone(),
            cargo_args: args.cargo_args.clone(),
            ..Self::new(&args.path, args.out.clone().map_or(Output::Default, Output::Directory))
        }
    }
}

/// A component that was built and written.
#[derive(Debug)]
pub(crate) struct Built {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// What it exports of the contract.
    pub(crate) contract: component::Contract,
}

/// Runs `pointwork build`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let built = build(&args.into(), terminal)?;
    terminal.line(format_args!(
        "{} {} ({}): {}",
        styled(DONE, "built"),
        styled(STRONG, relative(&built.path).display()),
        ByteSize::b(built.size).display().iec(),
        built.contract
    ));
    Ok(())
}

/// Builds a package and writes its component. It blocks for as long as cargo runs.
///
/// # Errors
///
/// The path holds no package, or several; the package builds no `cdylib`; cargo or the compiler's target is missing and
/// cannot be added; cargo fails, having said why on standard error; what it built exports nothing of the contract; the
/// file cannot be written.
pub(crate) fn build(request: &Request, terminal: &mut Terminal) -> Result<Built> {
    let package = package::find(&request.path, request.package.as_deref())?;
    toolchain::ensure_target(&package.directory, &request.target, terminal)?;
    let module = compile::cargo_build(&package, request)?;
    let (bytes, contract) = component::encode(&module)?;
    let path = match &request.output {
        Output::Default => package
            .workspace_root
            .join("target/pointwork")
            .join(format!("{}.wasm", package.name)),
        Output::Directory(directory) => directory.join(format!("{}.wasm", package.name)),
        Output::File(file) => file.clone(),
    };
    write::atomically(&path, &bytes)?;
    Ok(Built {
        path,
        size: bytes.len() as u64,
        contract,
    })
}

/// The path as seen from the current directory, where it lies below it: what a reader can type.
fn relative(path: &Path) -> &Path {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}
