//! The configuration of a command.

use std::path::Path;

use pointwork_config::{Config, FILE_NAME};

use crate::error::{Error, Result};
use crate::exit::Exit;

const NO_FILE: &str = "\
`pointwork new NAME` creates a project with one
`--config FILE` names the configuration of another folder
a component on the command line needs none: `pointwork serve shop.wasm`";

/// Reads the configuration at `path`, by default `pointwork.toml` in the current directory.
pub(crate) fn load(path: Option<&Path>) -> Result<Config> {
    let file = path.unwrap_or(Path::new(FILE_NAME));
    if path.is_none() && !file.try_exists().unwrap_or(true) {
        return Err(Error::new(Exit::Config, format!("there is no `{FILE_NAME}` in this folder")).with_hint(NO_FILE));
    }
    Ok(Config::load(file)?)
}
