//! What can be said on the command line.

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use crate::logging::LogArgs;
use crate::{build, check, exit, new, remote, routes, serve};

/// Write HTTP controllers once, compile them to sandboxed WebAssembly components, serve them on the HTTP server you run
#[derive(Debug, Parser)]
#[command(
    name = "pointwork",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 100,
    styles = STYLES,
    after_help = exit::HELP,
    after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP),
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) color: colorchoice_clap::Color,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What `pointwork` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a controller project
    New(new::Args),
    /// Compile a controller project into a component
    Build(build::Args),
    /// Serve components and channels over HTTP
    Serve(serve::Args),
    /// List the routes of components
    Routes(routes::Args),
    /// Tell whether a component fits the contract, and what it is
    Check(check::Args),
    /// List the modules of a server at work
    Modules(remote::list::Args),
    /// Put a component in the place of a module of a server at work, or add one
    Swap(remote::change::SwapArgs),
    /// Take a module out of a server at work
    Remove(remote::change::NameArgs),
    /// Make the version before current again, on a server at work
    Rollback(remote::change::NameArgs),
    /// Compiles a component for a server: it reads standard input and writes standard output
    #[command(name = COMPILE_WORKER, hide = true)]
    CompileWorker,
}

/// What this program is called with to compile for a server.
pub(crate) const COMPILE_WORKER: &str = "compile-worker";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  pointwork new shop                 a project that builds and serves as it comes
  cd shop
  pointwork build                    compile it to target/pointwork/shop.wasm
  pointwork check target/pointwork/shop.wasm
  pointwork routes                   what it answers
  pointwork serve                    answer on http://127.0.0.1:8080, as pointwork.toml says
  pointwork swap shop new.wasm       swap a module of a server at work, which has an [admin]";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
