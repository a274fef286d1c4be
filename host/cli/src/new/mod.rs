//! `pointwork new`: a project that builds and serves at once.

mod name;
mod place;
mod sdk;
mod template;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use std::io;
use std::path::{Path, PathBuf};

use self::sdk::Sdk;
pub(crate) use self::sdk::{VendorArgs, vendor};
use self::template::Template;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::ui::{DONE, STRONG, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork new shop
  pointwork new shop --template both --path services/shop
  pointwork new shop --template host --sdk-path ../pointwork/guest/rust

The project contains a copy of the SDK, in vendor/pointwork-guest, so that it builds on every
machine with crates from the registry. `pointwork vendor` updates the copy.

A project of the template `host` contains no copy. Until there is a release, its manifests name the
crates of the host and the SDK by their paths in the clone that `--sdk-path` leads to.";

/// The options of `pointwork new`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct NewArgs {
    /// Name of the project, its package and its module
    #[arg(value_name = "NAME")]
    name: String,

    /// Content of the project
    #[arg(long, value_enum, default_value_t, value_name = "TEMPLATE")]
    template: Template,

    /// Directory of the project, which is created or empty [default: the name of the project]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,

    /// Folder `guest/rust` in a clone of Pointwork: the project uses the crates there, not a copy
    // A path may be empty: a variable that is set but empty counts as unset.
    #[arg(
        long,
        env = "POINTWORK_SDK_PATH",
        value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    sdk_path: Option<PathBuf>,
}

pub(crate) fn run(args: &NewArgs, terminal: &mut Terminal) -> Result<()> {
    check_name(&args.name)?;
    let directory = args.path.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    place::check_vacant(&directory)?;
    place::check_surroundings(&directory)?;
    let named = args.sdk_path.as_deref().filter(|path| !path.as_os_str().is_empty());
    let sdk = Sdk::locate(named)?;
    let files = args.template.files(&args.name, &sdk)?;
    place::fill(&directory, |project| {
        files
            .iter()
            .try_for_each(|(path, text)| write(&project.join(path), text))?;
        sdk.write(project)
    })?;

    terminal.line(format_args!(
        "{} {}",
        styled(DONE, "created"),
        styled(STRONG, directory.display())
    ));
    if let Sdk::Folder(path) = &sdk {
        terminal.note(format_args!("it uses pointwork-guest from {}", path.display()));
    }
    terminal.note(format_args!(
        "next: cd {} && {}",
        quoted(&directory),
        args.template.next()
    ));
    Ok(())
}

/// The path as an argument of a command in a shell.
fn quoted(path: &Path) -> String {
    let mut text = path.display().to_string();
    // Otherwise it would be an option.
    if text.starts_with('-') {
        text.insert_str(0, "./");
    }
    if cfg!(windows) {
        let is_plain = !text.contains(char::is_whitespace);
        return if is_plain { text } else { format!("\"{text}\"") };
    }
    shlex::try_quote(&text).map_or_else(|_| text.clone(), Into::into)
}

fn check_name(name: &str) -> Result<()> {
    name::check(name).map_err(|reason| {
        let message = format!("`{name}` cannot be the name of a project: it {reason}");
        let near = name::suggestion(name);
        Error::new(Exit::Usage, message).with_optional_hint(near.map(|near| format!("try `pointwork new {near}`")))
    })
}

/// Writes a file, and the folders on the way to it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text)
}
