//! The exit codes of the command line. They are part of its interface: scripts distinguish failures by them.

use std::process::ExitCode;

/// The end of a command. A number never changes its meaning; a new reason gets a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command succeeded.
    Success = 0,
    /// The command failed: a build, a file, the network, or the running server.
    Failed = 1,
    /// The command line is invalid. Nothing was done.
    Usage = 2,
    /// The configuration is invalid or missing: the file itself, or a file, folder or statement in it.
    Config = 3,
    /// A tool is missing: cargo, the WebAssembly target of the compiler, Node, or Python.
    MissingTool = 4,
    /// A component is refused: it is invalid, does not fit the contract, fails while it is loaded, or its routes conflict
    /// with others. Or the running server refuses a change of a module, such as a roll-back without a previous version.
    Refused = 5,
    /// The server cannot listen on the address: it is in use, not permitted, or not of this machine.
    Address = 6,
}

/// The table in the help. A test compares it with [`Exit`].
pub(crate) const HELP: &str = "\
Exit codes:
  0  success
  1  failure
  2  the command line is invalid
  3  the configuration, or a file or folder that it names, is invalid or missing
  4  a tool is missing: cargo, the WebAssembly target of the compiler, or Node
  5  a component, or the change of a module, is refused
  6  the server cannot listen on the address";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_exit_code() {
        let codes = [
            Exit::Success,
            Exit::Failed,
            Exit::Usage,
            Exit::Config,
            Exit::MissingTool,
            Exit::Refused,
            Exit::Address,
        ];
        let listed: Vec<u8> = HELP
            .lines()
            .skip(1)
            .map(|line| line.trim_start()[..1].parse().expect("each line begins with a code"))
            .collect();
        assert_eq!(listed, codes.map(|code| code as u8));
    }
}
