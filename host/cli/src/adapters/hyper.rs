//! Bare hyper.

use pointwork::{App, ConnectOptions};
use pointwork_hyper::{Hyper, ServerOptions};
use tokio::net::TcpListener;

use super::Boxed;
use crate::config::Limits;
use crate::error::Result;

pub(super) fn serve(app: &App, listener: TcpListener, limits: &Limits, stop: Boxed<()>) -> Result<Boxed<Result<()>>> {
    let hyper = Hyper::with_options(options(limits));
    app.connect_to(hyper.clone(), ConnectOptions::new())?;
    let serving = hyper.serve(listener).with_graceful_shutdown(stop);
    Ok(Box::pin(async move {
        serving.await;
        Ok(())
    }))
}

fn options(limits: &Limits) -> ServerOptions {
    let mut options = ServerOptions::default();
    if let Some(timeout) = limits.header_timeout {
        options.first_byte_timeout = Some(timeout);
        options.header_timeout = Some(timeout);
    }
    if let Some(timeout) = limits.body_timeout {
        options.body_timeout = Some(timeout);
    }
    if let Some(grace) = limits.shutdown_grace {
        options.shutdown_grace = grace;
    }
    options
}
