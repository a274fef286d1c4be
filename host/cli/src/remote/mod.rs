//! The commands for a running server, over its admin endpoint.

pub(crate) mod change;
mod client;
pub(crate) mod events;
pub(crate) mod list;

use std::path::{Path, PathBuf};

use pointwork_config::{Admin, AdminAddress, FILE_NAME};
use tokio::runtime::Builder;

use self::client::Reply;
use crate::config;
use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::token;

const NAME_IT: &str = "name the socket or the address: `--admin admin.sock`";

/// The arguments that name the endpoint.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteArgs {
    /// Admin endpoint: the path of a socket, or host and port [default: that of the configuration]
    #[arg(long, value_name = "PLACE")]
    admin: Option<AdminAddress>,

    /// File with the token, which an endpoint on an address needs
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Configuration whose [admin] names the endpoint [default: pointwork.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    config: Option<PathBuf>,

    /// Print the reply of the endpoint as JSON
    #[arg(long)]
    json: bool,
}

impl RemoteArgs {
    /// The address and the token file of the endpoint.
    fn endpoint(&self) -> Result<Admin> {
        if let Some(address) = &self.admin {
            return Ok(Admin {
                address: address.clone(),
                token_file: self.token_file.clone(),
            });
        }
        if self.config.is_none() && !Path::new(FILE_NAME).exists() {
            let message = format!("no admin endpoint is named, and `{FILE_NAME}` does not exist");
            return Err(Error::new(Exit::Usage, message).with_hint(NAME_IT));
        }
        let mut config = config::load(self.config.as_deref())?;
        let mut admin = config.admin.take().ok_or_else(|| {
            Error::new(Exit::Config, format!("`{}` has no [admin]", config.file().display())).with_hint(NAME_IT)
        })?;
        if self.token_file.is_some() {
            admin.token_file.clone_from(&self.token_file);
        }
        Ok(admin)
    }

    /// Sends a request and waits for the reply, however long a compilation takes. It blocks.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or its reply is an error. A refused component has the exit code 5.
    fn send(&self, method: http::Method, path: &str, component: Option<Vec<u8>>) -> Result<Reply> {
        let admin = self.endpoint()?;
        let token = admin.token_file.as_deref().map(token::read).transpose()?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .or_failed("cannot start the client")?;
        runtime.block_on(client::send(&admin.address, token.as_deref(), method, path, component))
    }
}

/// The path of a module at the endpoint.
fn path_of(module: &str) -> String {
    format!("/modules/{}", encoded(module))
}

/// A text as a part of a path or query.
fn encoded(text: &str) -> impl std::fmt::Display {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}
