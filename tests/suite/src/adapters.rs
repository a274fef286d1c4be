//! The adapters that the suite runs on: a few lines each.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use pointwork_actix::Actix;
use pointwork_axum::Axum;
use pointwork_core::{BoxFuture, Transport};
use pointwork_hyper::Hyper;
use pointwork_salvo::Salvo;
use pointwork_trillium::Trillium;
use tokio::sync::oneshot;

use crate::app::{Serving, Wrap, start};
use crate::subject::{AppSpec, Control, Refusal, Subject};

/// Their names, in the order of the golden table.
pub const ADAPTERS: &[&str] = &["axum", "trillium", "actix", "salvo", "hyper"];

/// One subject for each adapter.
pub fn subjects() -> Vec<OnAdapter> {
    let on = |name, open| OnAdapter { name, open, wrap: None };
    vec![
        on("axum", || Arc::new(Axum::new())),
        on("trillium", || Arc::new(Trillium::new())),
        on("actix", || Arc::new(Actix::new())),
        on("salvo", || Arc::new(Salvo::new())),
        on("hyper", || Arc::new(Hyper::new())),
    ]
}

/// What the suite needs of an adapter.
pub trait Adapter: Send + Sync {
    /// What the application is connected to.
    fn transport(&self) -> Arc<dyn Transport>;

    /// Binds an address and serves it.
    ///
    /// # Errors
    /// If the address cannot be had.
    fn serve(&self, address: SocketAddr) -> BoxFuture<'_, Result<Serving, Refusal>>;
}

/// An application on one adapter.
#[derive(Clone, Copy, Debug)]
pub struct OnAdapter {
    name: &'static str,
    open: fn() -> Arc<dyn Adapter>,
    wrap: Option<Wrap>,
}

impl OnAdapter {
    /// The same with a broken transport; see [`broken`](crate::broken).
    #[must_use]
    pub fn wrapped(self, wrap: Wrap) -> Self {
        Self {
            wrap: Some(wrap),
            ..self
        }
    }
}

impl Subject for OnAdapter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        Box::pin(start((self.open)(), self.wrap, app))
    }
}

/// Runs a server until it is told to stop; `serve` gets the signal.
fn until_stopped<F: Future + Send + 'static>(
    address: SocketAddr,
    serve: impl FnOnce(BoxFuture<'static, ()>) -> F,
) -> Serving
where
    F::Output: Send,
{
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(Box::pin(async move {
        // A sender that is gone means stop as well.
        let _ = stopped.await;
    })));
    Serving::new(address, async move {
        let _ = stop.send(());
        let _ = server.await;
    })
}

macro_rules! adapters {
    ($($adapter:ty),+) => {
        $(impl Adapter for $adapter {
            fn transport(&self) -> Arc<dyn Transport> {
                Arc::new(self.clone())
            }

            fn serve(&self, address: SocketAddr) -> BoxFuture<'_, Result<Serving, Refusal>> {
                Box::pin(async move {
                    let listener = self.bind(address).await.map_err(|error| Refusal::of(&error))?;
                    let address = listener.local_addr().map_err(|error| Refusal::of(&error))?;
                    let server = <$adapter>::serve(self, listener);
                    Ok(until_stopped(address, |signal| server.with_graceful_shutdown(signal)))
                })
            }
        })+
    };
}

adapters!(Hyper, Axum, Trillium, Actix, Salvo);
