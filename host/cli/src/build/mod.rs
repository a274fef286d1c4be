//! `pointwork build`: a project becomes a component, whose file is replaced.

mod write;

use std::path::{Path, PathBuf};

use bytesize::ByteSize;

use crate::error::Result;
use crate::lint;
use crate::toolchains::{self, BuildOptions, Component, Project};
use crate::ui::{DONE, STRONG, Terminal, relative, styled};

/// The directory of components of the dev profile, beside the optimised ones.
const DEBUG: &str = "debug";

const EXAMPLES: &str = "\
Examples:
  pointwork build                          the package of this directory, optimised
  pointwork build controllers -p shop      one package of a workspace elsewhere
  pointwork build --debug                  the dev profile: faster to build, larger, slower
  pointwork build -- --features admin      arguments after `--` go to cargo

The component goes to target/pointwork/<package>.wasm beside the manifest of the
workspace, wherever the target directory of cargo is, so that a path in pointwork.toml holds on
every machine. With --debug it goes to target/pointwork/debug/<package>.wasm, beside the optimised one.
The list of its sources goes beside it, to <package>.d, by which `pointwork serve` warns of a
component that is older than one of them.

cargo is taken from CARGO or else from PATH, the compiler from RUSTC or else from PATH, node and
npm from PATH. npm installs what a project in TypeScript lacks; pip does so in the folder .venv of a
project in Python, made with python3 from PATH.";

/// The options of `pointwork build`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Directory or manifest of the package: Cargo.toml, package.json or pyproject.toml
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,

    /// Package to build, if the path has several
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// Directory for the component
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    options: BuildOptions,
}

impl BuildArgs {
    /// The file for the component of a project.
    fn file(&self, project: &Project) -> PathBuf {
        let is_debug = self.options.debug || self.options.profile.as_deref() == Some("dev");
        let default = || {
            let directory = project.root.join("target/pointwork");
            if is_debug { directory.join(DEBUG) } else { directory }
        };
        let directory = self.out.clone().unwrap_or_else(default);
        directory.join(format!("{}.wasm", project.name))
    }
}

pub(crate) fn run(args: &BuildArgs, terminal: &mut Terminal) -> Result<()> {
    let project = toolchains::find(&args.path, args.package.as_deref(), &args.options, terminal)?;
    let file = args.file(&project);
    let Component { bytes, form, .. } = build(&project, &args.options, &file, terminal)?;
    terminal.line(format_args!(
        "{} {} ({}): {form}",
        styled(DONE, "built"),
        styled(STRONG, relative(&file).display()),
        ByteSize::b(bytes.len() as u64).display().iec(),
    ));
    Ok(())
}

/// Builds a project, and writes its component and the list of its sources. It blocks until the tools end.
pub(crate) fn build(
    project: &Project,
    options: &BuildOptions,
    file: &Path,
    terminal: &mut Terminal,
) -> Result<Component> {
    let component = (project.language.build)(project, options)?;
    let sources = toolchains::list_of_sources(file, &component.sources);
    write::atomically(&file.with_extension("d"), sources.as_bytes())?;
    write::atomically(file, &component.bytes)?;
    for warning in lint::warnings(&component.bytes) {
        terminal.warning(warning);
    }
    Ok(component)
}

/// The file of the optimised component beside this one of `build --debug`.
pub(crate) fn optimised(file: &Path) -> Option<PathBuf> {
    let directory = file.parent().filter(|directory| directory.ends_with(DEBUG))?;
    Some(directory.parent()?.join(file.file_name()?))
}
