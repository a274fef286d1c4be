//! `pointwork check`: whether a component fits the contract, and what it is.

use std::path::PathBuf;

use bytesize::ByteSize;
use futures_executor::block_on;
use pointwork::{App, Inspection, ModuleInfo};
use tracing::subscriber::NoSubscriber;

use crate::error::{Error, Result};
use crate::ui::{DONE, ERROR, STRONG, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork check target/pointwork/shop.wasm

The component is read, compiled, instantiated and asked for its routes, under the limits that hold
without a configuration; no handler runs. One that is refused ends with exit code 5, and the reason
stands on standard error. What could be read of it stands on standard output either way.";

/// The options of `pointwork check`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs `pointwork check`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let file = args.file.display();
    let bytes = std::fs::read(&args.file)
        .map_err(|error| Error::failed(format!("cannot read the component `{file}`")).with_source(error))?;
    let refused = || format!("`{file}` is refused");
    let inspection = pointwork::inspect(&bytes).map_err(|error| Error::refused_because(refused(), error))?;
    let fit = inspection.verdict();
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let loaded = match fit {
        Ok(_) => load(&name, bytes).map_err(|error| Error::refused(refused(), error)),
        Err(error) => Err(Error::refused_because(refused(), error)),
    };
    match &loaded {
        Ok(info) => {
            terminal.line(format_args!("{file} {}", styled(DONE, "fits the contract")));
            row(terminal, "form", &info.form.to_string());
            row(terminal, "contract", &format!("pointwork:module@{}", info.version));
            row(terminal, "routes", &info.routes.to_string());
            row(terminal, "digest", &format!("sha256:{}", info.digest));
        }
        Err(_) => terminal.line(format_args!("{file} {}", styled(ERROR, "is refused"))),
    }
    outline(&inspection, terminal);
    for warning in loaded?.warnings {
        terminal.warning(warning);
    }
    Ok(())
}

/// Does what a server would do with it before the first request.
fn load(name: &str, bytes: Vec<u8>) -> Result<ModuleInfo, pointwork::Error> {
    let app = App::new()?;
    // What the log would say is what the command prints.
    tracing::subscriber::with_default(NoSubscriber::new(), || block_on(app.load(name, bytes)))
}

fn outline(inspection: &Inspection, terminal: &mut Terminal) {
    let size = u64::try_from(inspection.size).unwrap_or(u64::MAX);
    row(
        terminal,
        "size",
        &format!("{} ({size} bytes)", ByteSize::b(size).display().iec()),
    );
    for (label, names) in [("imports", &inspection.imports), ("exports", &inspection.exports)] {
        let mut label = label;
        for name in names {
            row(terminal, label, name);
            label = "";
        }
        if names.is_empty() {
            row(terminal, label, "nothing");
        }
    }
}

fn row(terminal: &mut Terminal, label: &str, text: &str) {
    terminal.line(format_args!("  {} {text}", styled(STRONG, format_args!("{label:<8}"))));
}
