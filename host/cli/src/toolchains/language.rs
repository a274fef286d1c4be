//! A language of modules: the files of its projects, and the functions that find and build a project.

use std::path::{Path, PathBuf};

use pointwork_config::Module;

use super::findings::Findings;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::ui::{Terminal, relative};

/// A language of modules, with its toolchain. [`LANGUAGES`](super::LANGUAGES) lists them all.
pub(crate) struct Language {
    /// The names by which `pointwork new --lang` knows it. Each has templates of its own.
    pub(crate) names: &'static [&'static str],
    /// The name of the file that marks the folder of a project.
    pub(crate) manifest: &'static str,
    /// Files and folders beside the manifest. A component is out of date if one of these is newer than the component.
    pub(crate) own: &'static [&'static str],
    /// Names of files and folders that decide how every module of the language is built. Not a lock file that the build writes.
    pub(crate) settings: &'static [&'static str],
    /// Extensions of files that are sources of every module of the language until a build has listed what it reads.
    pub(crate) extensions: &'static [&'static str],
    /// The hint for a module without a controller that serves a route.
    pub(crate) no_controller: &'static str,
    /// Whether each build for development makes the same component, whose compiled code is worth keeping.
    pub(crate) keeps_component: bool,

    /// Finds the project, or the package of this name in it, by the path of a manifest. Ensures that its tools are there.
    pub(crate) find: fn(&Path, Option<&str>, &BuildOptions, &mut Terminal) -> Result<Project>,
    /// Builds a project. It blocks. The tools write warnings and errors to standard error.
    pub(crate) build: fn(&Project, &BuildOptions) -> Result<Component>,
    /// Reports the tools that are there or missing in this folder, for these modules.
    pub(crate) tools: fn(&Path, &[&Module], &mut Findings<'_>),

    /// Names that no project may have, each list with the reason.
    pub(crate) reserved: &'static [(&'static [&'static str], &'static str)],
    /// Checks that the tools accept a project in this directory, which is absolute and may not exist.
    pub(crate) check_place: fn(&Path) -> Result<()>,
    pub(crate) files: fn(&Draft<'_>) -> Result<Files>,
    pub(crate) sdk: Sdk,
}

/// A project that is to be made.
pub(crate) struct Draft<'a> {
    pub(crate) template: Template,
    /// One of the names of the language.
    pub(crate) lang: &'a str,
    pub(crate) name: &'a str,
    /// The folder of the SDK, if the project gets no copy.
    pub(crate) sdk: Option<&'a Path>,
}

impl Draft<'_> {
    /// The error for the template `host`, which exists in Rust alone.
    pub(super) fn no_host(&self) -> Error {
        let message = "the template `host` is a program in Rust; expected `controller`, `channel` or `both`";
        let hint = format!(
            "`pointwork new {} --template host` makes one, with a module in Rust",
            self.name
        );
        Error::new(Exit::Usage, message).with_hint(hint)
    }
}

/// Paths and texts.
pub(crate) type Files = Vec<(&'static str, String)>;

/// The SDK of a language. A new project gets a copy, so that it builds on every machine.
pub(crate) struct Sdk {
    pub(crate) package: &'static str,
    /// Its folder in a checkout of Pointwork.
    pub(crate) folder: &'static str,
    /// The folder of the copy in a project.
    pub(crate) vendored: &'static str,
    /// The copy, packed by `build.rs`: paths and texts.
    pub(crate) copy: &'static [(&'static str, &'static str)],
    /// The lines that a manifest needs for the copy.
    pub(crate) lines: &'static str,
    /// The version of the SDK in a folder; `None` if it is not the SDK.
    pub(crate) version: fn(&Path) -> Option<String>,
    /// The versions of the SDK in the lock file of the project in a folder, each with that file.
    pub(crate) locked: fn(&Path) -> Vec<(String, PathBuf)>,
}

/// The content of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Template {
    /// A module with a controller, whose events SQLite answers
    #[default]
    Controller,
    /// A module with a channel, which keeps its data in a directory
    Channel,
    /// A module with a controller, a module with a channel, and a crate with their events
    Both,
    /// An axum application that mounts a module; needs --sdk-path, the folder guest/rust in a clone
    Host,
}

/// A project that can be built.
pub(crate) struct Project {
    pub(crate) language: &'static Language,
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    /// The folder in which its tools run.
    pub(crate) directory: PathBuf,
    /// The folder whose `target/pointwork` gets its component.
    pub(crate) root: PathBuf,
    /// The folders whose whole trees may hold sources.
    pub(crate) source_roots: Vec<PathBuf>,
}

/// The result of a build.
pub(crate) struct Component {
    pub(crate) bytes: Vec<u8>,
    /// The form of its handlers.
    pub(crate) form: &'static str,
    /// The files that the build read.
    pub(crate) sources: Vec<PathBuf>,
    /// The program that the component evaluates: in development, if the component is an engine without a program.
    pub(crate) program: Option<String>,
}

/// How a project is built: optimised, unless an option asks for something else.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct BuildOptions {
    /// Build with the dev profile instead of release
    #[arg(long, conflicts_with = "profile")]
    pub(crate) debug: bool,

    /// Cargo profile [default: release]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// Target directory of cargo
    #[arg(long, value_name = "DIR")]
    pub(crate) target_dir: Option<PathBuf>,

    /// Target of the compiler [default: wasm32-wasip1]
    ///
    /// Controllers are built for wasm32-wasip1, and import nothing but the contract. A channel module that needs files or
    /// sockets is built for wasm32-wasip2; it imports WASI, and the configuration grants what it may use.
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) target: Option<String>,

    /// Further arguments for `cargo build`
    #[arg(last = true, value_name = "CARGO_ARGS")]
    pub(crate) arguments: Vec<String>,

    /// Build as fast as it gets, with lines for backtraces: `pointwork dev`.
    #[arg(skip)]
    pub(crate) development: bool,

    /// Print warnings and errors only.
    #[arg(skip)]
    pub(crate) quiet: bool,
}

impl BuildOptions {
    /// Refuses options for cargo in a project of another language.
    pub(super) fn refuse_those_of_cargo(&self, manifest: &Path) -> Result<()> {
        let given = [
            ("`--profile`", self.profile.is_some()),
            ("`--target-dir`", self.target_dir.is_some()),
            ("`--target`", self.target.is_some()),
            ("arguments after `--`", !self.arguments.is_empty()),
        ];
        let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let manifest = relative(manifest).display().to_string();
        let message = format!("{option}: only for cargo, and `{manifest}` is no project in Rust");
        Err(Error::new(Exit::Usage, message)
            .with_hint("leave it out, also as `target` of the module in the configuration"))
    }
}

impl Language {
    pub(crate) fn is_setting(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| self.settings.iter().any(|setting| name == *setting))
    }

    /// Whether a file is a source, also if no build has read it.
    pub(crate) fn is_source(&self, path: &Path) -> bool {
        path.extension()
            .is_some_and(|extension| self.extensions.iter().any(|known| extension == *known))
    }
}
