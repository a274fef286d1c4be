//! The admin endpoint beside the server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use pointwork::{App, ModuleOptions};
use pointwork_admin::{Admin, AdminOptions, ErrorKind, Listener, Token};
use pointwork_config::{AdminAddress, Config};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::app::Loadable;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::token;

pub(super) struct Endpoint {
    /// The path of its socket, or its URL.
    pub(super) address: String,
    pub(super) serving: JoinHandle<()>,
}

/// Starts the endpoint, if the configuration has one; it shows the number of dropped lines of the log. It serves until
/// `stop` is cancelled.
pub(super) async fn start(
    config: &Config,
    app: &App,
    modules: &[Loadable<'_>],
    dropped_lines: Arc<AtomicU64>,
    stop: CancellationToken,
) -> Result<Option<Endpoint>> {
    let Some(admin) = &config.admin else {
        return Ok(None);
    };
    let address = &admin.address;
    let mut admin_options = AdminOptions::new()
        .component_limit(config.app_options().compile.size)
        .shutdown_grace(config.server_options().shutdown_grace)
        .dropped_log_lines(dropped_lines)
        .module_options(module_options(config, modules));
    if let Some(file) = &admin.token_file {
        let token = Token::new(&token::read(file)?).map_err(|error| failed(address, error))?;
        admin_options = admin_options.token(token);
    } else if matches!(address, AdminAddress::Listen(_)) {
        // The command line names the endpoint; a configuration without a token is refused when it is parsed.
        let error = Error::new(Exit::Usage, format!("the admin endpoint on `{address}` has no token"));
        return Err(error.with_hint("name a file with a token: `--token-file FILE`; a socket needs none"));
    }
    let endpoint = Admin::with_options(app, admin_options).map_err(|error| failed(address, error))?;
    let listener = match address {
        AdminAddress::Socket(path) => Listener::unix(path).map_err(|error| failed(address, error))?,
        AdminAddress::Listen(listen) => {
            let listener = TcpListener::bind(listen.as_str()).await;
            Listener::tcp(listener.map_err(|error| cannot_listen(address).with_source(error))?)
        }
    };
    let shown = listener.to_string();
    let serving = endpoint
        .serve(listener)
        .map_err(|error| failed(&admin.address, error))?;
    let serving = tokio::spawn(serving.with_graceful_shutdown(stop.cancelled_owned()));
    Ok(Some(Endpoint {
        address: shown,
        serving,
    }))
}

/// The options of an uploaded module: those of the configuration for its name, or for all modules. The configured digest
/// is that of the file, so it does not apply.
fn module_options(config: &Config, modules: &[Loadable<'_>]) -> impl Fn(&str) -> ModuleOptions + Send + Sync + use<> {
    let mut known: HashMap<String, ModuleOptions> = HashMap::new();
    for Loadable { module, options, .. } in modules {
        let mut options = options.clone();
        options.digest = None;
        known.insert(module.name.clone(), options);
    }
    let any = config.any_module_options();
    move |name| known.get(name).unwrap_or(&any).clone()
}

fn cannot_listen(address: &AdminAddress) -> Error {
    Error::new(
        Exit::Address,
        format!("the admin endpoint cannot listen on `{address}`"),
    )
}

fn failed(address: &AdminAddress, error: pointwork_admin::Error) -> Error {
    match error.kind() {
        ErrorKind::InUse => cannot_listen(address)
            .with_source(error)
            .with_hint("each server has a socket of its own"),
        ErrorKind::Socket => cannot_listen(address).with_source(error),
        _ => Error::failed(format!("the admin endpoint on `{address}` cannot be started")).with_source(error),
    }
}
