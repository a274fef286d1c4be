//! `pointwork completions`: the completion script of a shell.

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Result;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork completions bash > ~/.local/share/bash-completion/completions/pointwork
  pointwork completions zsh > \"${fpath[1]}/_pointwork\"
  pointwork completions fish > ~/.config/fish/completions/pointwork.fish
  pointwork completions elvish >> ~/.config/elvish/rc.elv
  pointwork completions powershell >> $PROFILE";

/// The options of `pointwork completions`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Shell that reads the script
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, terminal: &mut Terminal) -> Result<()> {
    let cli = Cli::command();
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
    // clap_complete would offer the hidden ones, too.
    let mut cli = Command::new("pointwork").args(cli.get_arguments()).subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "pointwork", &mut script);
    terminal.line(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}
