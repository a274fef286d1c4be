//! The exit codes of the command line. They are part of its interface: scripts tell failures apart by them.

use std::process::ExitCode;

/// How a command ended.
///
/// The numbers never change their meaning; a new reason gets a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command did what it was asked.
    Success = 0,
    /// What was asked for failed: a build, a file, the network, the server while it ran.
    Failed = 1,
    /// The command line is wrong. Nothing was done.
    Usage = 2,
    /// The configuration is wrong or missing: the file itself, or a file or statement that it names.
    Config = 3,
    /// A tool of the machine is missing: cargo, or the WebAssembly target of the compiler.
    MissingTool = 4,
    /// A component is refused: it is none, it does not fit the contract, it fails while it is loaded, or its routes are
    /// in conflict.
    Refused = 5,
    /// The address cannot be listened on: it is in use, or not for this user or machine.
    Address = 6,
}

/// The table that the help prints. A test holds it against [`Exit`].
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  what was asked for failed
  2  the command line is wrong
  3  the configuration, or a file that it names, is wrong or missing
  4  a tool is missing: cargo, or the compiler's WebAssembly target
  5  a component is refused
  6  the address cannot be listened on";

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
