//! The `pointwork` command line: builds controllers into components and serves them.
//!
//! This is the only crate of the workspace that prints. The result of a command goes to standard output, everything else
//! (logs, progress, errors) to standard error. All of it goes through [`ui::Terminal`].
//!
//! An error is one line, `error: …`, followed by its causes and a hint where there is one. [`exit::Exit`] has the exit
//! codes; `pointwork --help` lists them.

#![expect(
    clippy::disallowed_methods,
    reason = "the command runs in processes that a test starts"
)]

mod adapters;
mod app;
mod build;
mod check;
mod cli;
mod completions;
mod config;
mod dev;
mod doctor;
mod error;
mod exit;
mod integers;
mod lint;
mod logging;
mod modules;
mod new;
mod remote;
mod routes;
mod serve;
mod table;
mod token;
mod toolchains;
mod ui;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::ui::Terminal;

/// A request that waits often starts on one thread and ends on another, which is slow with the allocator of glibc:
/// `cargo bench --bench table -- waiting` in `tests/bench` shows it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors of clap too, which it prints to standard output.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
            // A failed write of the message cannot be reported.
            let _ = error.print();
            return exit.into();
        }
    };
    cli.color.write_global();
    let terminal = if matches!(cli.command, Command::Serve(_) | Command::Dev(_)) {
        logging::init_server(&cli.log).map(Terminal::of_server)
    } else {
        // They load modules without the native channels.
        logging::init(&cli.log, "warn,pointwork::events_used=off");
        Ok(Terminal::standard())
    };
    let (mut terminal, result) = match terminal {
        Ok(mut terminal) => {
            let result = run(&cli.command, &mut terminal).and_then(|()| terminal.finish());
            (terminal, result)
        }
        Err(error) => (Terminal::standard(), Err(error)),
    };
    let exit = match result {
        Ok(()) => Exit::Success,
        Err(error) => {
            terminal.error(&error);
            error.exit()
        }
    };
    terminal.flush_log();
    exit.into()
}

fn run(command: &Command, terminal: &mut Terminal) -> error::Result<()> {
    match command {
        Command::Build(args) => serve::run_until_signal(args.clone(), build::run),
        Command::Check(args) => check::run(args, terminal),
        Command::New(args) => new::run(args, terminal),
        Command::Dev(args) => dev::run(args, terminal),
        Command::Vendor(args) => new::vendor(args, terminal),
        Command::Routes(args) => serve::run_until_signal(args.clone(), routes::run),
        Command::Serve(args) => serve::run(args, terminal),
        Command::Events(args) => remote::events::run(args, terminal),
        Command::Modules(args) => remote::list::run(args, terminal),
        Command::Swap(args) => remote::change::swap(args, terminal),
        Command::Remove(args) => remote::change::remove(args, terminal),
        Command::Rollback(args) => remote::change::roll_back(args, terminal),
        Command::Doctor(args) => doctor::run(args, terminal),
        Command::Completions(args) => completions::run(args, terminal),
        Command::CompileWorker => pointwork::compile_worker().map_err(error::Error::from),
    }
}
