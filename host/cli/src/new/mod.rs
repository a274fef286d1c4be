//! `pointwork new`: a controller project that builds and serves at once.

mod name;
mod sdk;

use std::path::{Path, PathBuf};

use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::ui::{DONE, STRONG, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork new shop
  pointwork new shop --path services/shop
  pointwork new shop --sdk-path ../pointwork/guest/rust

The project depends on pointwork-guest in the version of this program. A program that was built in
a checkout of Pointwork, or installed from one with `cargo install --path`, uses the SDK of that
checkout by its path. --sdk-path names another path.";

/// The options of `pointwork new`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct NewArgs {
    /// Name of the project, its package and its module
    #[arg(value_name = "NAME")]
    name: String,

    /// Directory of the project, which is created or empty [default: the name of the project]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,

    /// Folder of pointwork-guest
    #[arg(long, env = "POINTWORK_SDK_PATH", value_name = "DIR")]
    sdk_path: Option<PathBuf>,
}

/// The files of a project: the path and the template of each.
const TEMPLATE: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("src/lib.rs", include_str!("template/lib.rs.in")),
    ("pointwork.toml", include_str!("template/pointwork.toml.in")),
    ("README.md", include_str!("template/README.md.in")),
    (".gitignore", include_str!("template/gitignore.in")),
];

pub(crate) fn run(args: &NewArgs, terminal: &mut Terminal) -> Result<()> {
    check_name(&args.name)?;
    let directory = args.path.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    check_vacant(&directory)?;
    let source = sdk::source(args.sdk_path.as_deref())?;
    create(&directory, &args.name, &source)?;

    terminal.line(format_args!(
        "{} {}",
        styled(DONE, "created"),
        styled(STRONG, directory.display())
    ));
    if let sdk::SdkSource::Path(path) = &source {
        terminal.note(format_args!("it uses pointwork-guest from {}", path.display()));
    }
    terminal.note(format_args!("next: cd {} && pointwork build", directory.display()));
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    name::check(name).map_err(|reason| {
        let message = format!("`{name}` cannot be the name of a project: it {reason}");
        let near = name::suggestion(name);
        Error::new(Exit::Usage, message).with_optional_hint(near.map(|near| format!("try `pointwork new {near}`")))
    })
}

/// Checks that the directory is empty or does not exist.
fn check_vacant(directory: &Path) -> Result<()> {
    let refuse = |what: &str| {
        Error::failed(format!("`{}` {what}", directory.display()))
            .with_hint("choose another directory with `--path DIR`")
    };
    match std::fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refuse("is not empty")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Err(refuse("is a file")),
        Err(error) => {
            Err(Error::failed(format!("cannot read the directory `{}`", directory.display())).with_source(error))
        }
    }
}

fn create(directory: &Path, name: &str, source: &sdk::SdkSource) -> Result<()> {
    for (file, text) in TEMPLATE {
        let path = directory.join(file);
        let text = text
            .replace("@NAME@", name)
            .replace("@SDK@", &source.dependency(None))
            .replace("@SDK_TESTING@", &source.dependency(Some("testing")));
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .or_failed(format_args!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}
