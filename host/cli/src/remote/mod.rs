//! The commands that change a server at work, over its admin endpoint.

pub(crate) mod change;
mod client;
pub(crate) mod list;

use std::path::{Path, PathBuf};

use tokio::runtime::Builder;

use self::client::{Client, Reply};
use crate::config::{Admin, AdminAddress, Config, FILE_NAME};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::token;

/// The arguments that name the endpoint.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The admin endpoint: the path of a socket, or host and port [default: what the configuration says]
    #[arg(long, value_name = "PLACE")]
    admin: Option<AdminAddress>,

    /// The file that holds the token, which an endpoint on an address asks for
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// The configuration whose [admin] names the endpoint [default: pointwork.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    config: Option<PathBuf>,

    /// What the endpoint answered, as JSON
    #[arg(long)]
    json: bool,
}

impl RemoteArgs {
    /// Where the endpoint is.
    fn place(&self) -> Result<Admin> {
        if let Some(address) = &self.admin {
            return Ok(Admin {
                address: address.clone(),
                token_file: self.token_file.clone(),
            });
        }
        if self.config.is_none() && !Path::new(FILE_NAME).exists() {
            let error = Error::new(
                Exit::Usage,
                format!("no admin endpoint is named, and there is no `{FILE_NAME}`"),
            );
            return Err(error.with_hint("name the socket or the address: `--admin admin.sock`"));
        }
        let config = Config::load(self.config.as_deref())?;
        let mut admin = config.admin.ok_or_else(|| {
            Error::new(Exit::Config, format!("`{}` has no [admin]", config.file.display()))
                .with_hint("name the socket or the address: `--admin admin.sock`")
        })?;
        if self.token_file.is_some() {
            admin.token_file.clone_from(&self.token_file);
        }
        Ok(admin)
    }

    /// Sends one request and waits for its reply, however long a compilation takes. It blocks.
    ///
    /// # Errors
    ///
    /// The endpoint cannot be reached, or answers with an error, which is told as its own: a component that was refused
    /// has the exit code for that.
    fn send(&self, method: http::Method, path: &str, component: Option<Vec<u8>>) -> Result<Reply> {
        let admin = self.place()?;
        let token = admin.token_file.as_deref().map(token::read).transpose()?;
        let client = Client { admin, token };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::failed("cannot start the client").with_source(error))?;
        runtime.block_on(client.send(method, path, component))
    }
}

/// The path of a module, whatever its name.
fn path_of(module: &str) -> String {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    format!("/modules/{}", utf8_percent_encode(module, NON_ALPHANUMERIC))
}
