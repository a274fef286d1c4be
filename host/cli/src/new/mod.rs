//! `pointwork new`: a project that builds and serves at once.

mod name;
mod place;
mod sdk;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser as _};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use self::sdk::{VendorArgs, vendor};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::toolchains::{self, Draft, LANGUAGES, Language, Template};
use crate::ui::{DONE, STRONG, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork new shop
  pointwork new shop --lang ts
  pointwork new shop --lang python
  pointwork new shop --template both --path services/shop
  pointwork new shop --template host --sdk-path ../pointwork/guest/rust

The project contains a copy of the SDK, in vendor/pointwork-guest, so that it builds on every
machine with packages from the registry of its language. `pointwork vendor` updates the copy.

A project of the template `host` contains no copy. Until there is a release, its manifests name the
crates of the host and the SDK by their paths in the clone that `--sdk-path` leads to.";

/// The options of `pointwork new`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct NewArgs {
    /// Name of the project, its package and its module
    #[arg(value_name = "NAME")]
    name: String,

    /// Language of its modules: Rust, TypeScript, JavaScript or Python
    #[arg(long, default_value = "rust", value_parser = PossibleValuesParser::new(toolchains::names()), value_name = "LANG")]
    lang: String,

    /// Content of the project
    #[arg(long, value_enum, default_value_t, value_name = "TEMPLATE")]
    template: Template,

    /// Directory of the project, which is created or empty [default: the name of the project]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,

    /// Folder `guest/rust`, `guest/js` or `guest/python` in a clone of Pointwork: the project uses the SDK there, not a copy
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
    let named = |language: &&Language| language.names.contains(&&*args.lang);
    let language = LANGUAGES.iter().find(named).unwrap_or(&LANGUAGES[0]);
    check_name(&args.name, language)?;
    let directory = args.path.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    place::check_vacant(&directory)?;
    (language.check_place)(&place::absolute(&directory)?)?;
    let named = args.sdk_path.as_deref().filter(|path| !path.as_os_str().is_empty());
    let folder = named.map(|path| sdk::locate(path, &language.sdk)).transpose()?;
    let files = (language.files)(&Draft {
        template: args.template,
        lang: &args.lang,
        name: &args.name,
        sdk: folder.as_deref(),
    })?;
    place::fill(&directory, |project| {
        files
            .iter()
            .try_for_each(|(path, text)| write(&project.join(path), text))?;
        match folder {
            Some(_) => Ok(()),
            None => sdk::write(&project.join(language.sdk.vendored), &language.sdk),
        }
    })?;

    terminal.line(format_args!(
        "{} {}",
        styled(DONE, "created"),
        styled(STRONG, directory.display())
    ));
    if let Some(folder) = &folder {
        let package = language.sdk.package;
        terminal.note(format_args!("it uses {package} from {}", folder.display()));
    }
    let next = match args.template {
        Template::Controller | Template::Channel | Template::Both => "pointwork dev",
        Template::Host => "pointwork build controllers && cargo run",
    };
    terminal.note(format_args!("next: cd {} && {next}", quoted(&directory)));
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

fn check_name(name: &str, language: &Language) -> Result<()> {
    name::check(name, language).map_err(|reason| {
        let message = format!("`{name}` cannot be the name of a project: it {reason}");
        let near = name::suggestion(name, language);
        Error::new(Exit::Usage, message).with_optional_hint(near.map(|near| format!("try `pointwork new {near}`")))
    })
}

/// Writes a file, and the folders on the way to it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text)
}
