//! The command line.

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use crate::build::BuildArgs;
use crate::check::CheckArgs;
use crate::completions::CompletionsArgs;
use crate::dev::DevArgs;
use crate::doctor::DoctorArgs;
use crate::exit;
use crate::logging::LogArgs;
use crate::new::{NewArgs, VendorArgs};
use crate::remote::change::{NameArgs, SwapArgs};
use crate::remote::events::EventsArgs;
use crate::remote::list::ListArgs;
use crate::routes::RoutesArgs;
use crate::serve::ServeArgs;
use crate::worker::COMPILE_WORKER;

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a project
    New(NewArgs),
    /// Build and serve a project, and swap its modules as their sources change
    Dev(DevArgs),
    /// Update the copy of the SDK in a project
    Vendor(VendorArgs),
    /// Compile a controller project into a component
    Build(BuildArgs),
    /// Serve components and channels over HTTP
    Serve(ServeArgs),
    /// List the routes of components
    Routes(RoutesArgs),
    /// Check a component against the contract, and describe it
    Check(CheckArgs),
    /// List the modules of a running server
    Modules(ListArgs),
    /// Replace or add a module of a running server
    Swap(SwapArgs),
    /// Remove a module from a running server
    Remove(NameArgs),
    /// Return a module of a running server to its previous version
    Rollback(NameArgs),
    /// List the durable channels of a running server, and settle dead letters
    Events(EventsArgs),
    /// Report what is missing for building and serving
    Doctor(DoctorArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Compile a component for a server, from standard input to standard output
    #[command(name = COMPILE_WORKER, hide = true)]
    CompileWorker,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  pointwork new shop                 a project that builds and serves at once
  cd shop
  pointwork dev                      build, serve, and swap at each change of a source
  pointwork build                    compile it to target/pointwork/shop.wasm
  pointwork check target/pointwork/shop.wasm
  pointwork routes                   the routes of the project
  pointwork serve                    serve it on http://127.0.0.1:8080
  pointwork doctor                   what is missing for this
  pointwork swap shop new.wasm       swap a module of a running server with an [admin]";
