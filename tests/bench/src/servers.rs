//! Servers on threads of their own, all on one core.

use std::net::{SocketAddr, TcpListener};
use std::thread;

use anyhow::{Result, ensure};
use pointwork::{App, ConnectOptions};
use pointwork_load::{SERVER_CORE, on_core};

use crate::bare::on_this_thread;

/// Runs a server on a thread of its own until the process ends. The threads that it starts stay on its core.
///
/// # Errors
/// If no port is free.
#[expect(clippy::print_stderr, reason = "the benchmark would wait for this server in vain")]
fn start(name: &str, serve: impl FnOnce(TcpListener) -> Result<()> + Send + 'static) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let name = name.to_owned();
    thread::spawn(move || {
        if let Err(error) = on_core(SERVER_CORE, || serve(listener)).flatten() {
            eprintln!("{name} ended: {error:#}");
        }
    });
    Ok(address)
}

macro_rules! connected {
    ($app:ident, $name:expr, $adapter:expr) => {{
        let adapter = $adapter;
        $app.connect_to(adapter.clone(), ConnectOptions::new())?;
        start($name, move |listener| {
            on_this_thread(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                adapter.serve(listener).await;
                Ok(())
            })
        })
    }};
}

/// Attaches the adapter of that name to the application, and serves it.
///
/// # Errors
/// If no adapter has that name, or the adapter refuses the routes.
pub fn start_on(app: &App, adapter: &str) -> Result<SocketAddr> {
    match adapter {
        "axum" => connected!(app, adapter, pointwork_axum::Axum::new()),
        "trillium" => connected!(app, adapter, pointwork_trillium::Trillium::new()),
        "actix" => connected!(app, adapter, pointwork_actix::Actix::new()),
        "salvo" => connected!(app, adapter, pointwork_salvo::Salvo::new()),
        _ => {
            ensure!(adapter == "hyper", "there is no adapter `{adapter}`");
            connected!(app, adapter, pointwork_hyper::Hyper::new())
        }
    }
}
