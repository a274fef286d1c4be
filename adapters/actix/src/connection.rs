//! One connection, from its first byte to its last.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::{HttpService, KeepAlive};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, fn_factory, fn_service, map_config,
};
use actix_web::App;
use actix_web::dev::AppConfig;
use pointwork_core::ServerOptions;
use tokio::net::TcpStream;

use crate::ActixService;
use crate::connections::Connections;
use crate::io::Io;
use crate::link::Link;
use crate::watch::Watch;

/// What every worker needs to serve connections.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) service: ActixService,
    pub(crate) options: Arc<ServerOptions>,
    pub(crate) connections: Arc<Connections>,
}

/// The service of one worker: actix-http's HTTP/1 over our [`Io`], with an `App` that holds nothing but the adapter.
pub(crate) fn factory(
    shared: Shared,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = (), InitError = ()> {
    let app = App::new().default_service(shared.service.clone());
    let app = app
        .into_factory()
        .map_err(|error: actix_web::Error| error.error_response());
    // Every time is watched by us, see `Watch`; so is the client's going away, see `Io`.
    let h1 = HttpService::build()
        .keep_alive(KeepAlive::Os)
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(Duration::ZERO)
        .h1_allow_half_closed(false)
        .on_connect_ext(|io: &Io, data| {
            data.insert::<Arc<Link>>(io.link().clone());
        })
        .h1(map_config(app, |()| AppConfig::default()));
    let h1 = Rc::new(h1);
    fn_factory(move || {
        let (shared, h1) = (shared.clone(), h1.clone());
        async move {
            let h1 = Rc::new(h1.new_service(()).await?);
            Ok(fn_service(move |stream: TcpStream| {
                let entry = shared.connections.enter(&shared.options);
                // Replies are written whole, so waiting for more to send along only costs time.
                let _ = stream.set_nodelay(true);
                let peer = stream.peer_addr().ok();
                let io = Io::new(stream, entry.link.clone(), shared.options.clone());
                Connection {
                    http: Box::pin(h1.call((io, peer))),
                    watch: Watch::new(entry),
                }
            }))
        }
    })
}

struct Connection<H> {
    http: Pin<Box<H>>,
    watch: Watch,
}

impl<H, E> Future for Connection<H>
where
    H: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    type Output = Result<(), ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        let this = &mut *self;
        let mut alarm = this.watch.poll_phase(cx);
        if alarm.is_pending() {
            if let Poll::Ready(end) = this.http.as_mut().poll(cx) {
                if let Err(error) = end {
                    tracing::debug!("a connection ended: {error}");
                }
                return Poll::Ready(Ok(()));
            }
            alarm = this.watch.poll_times(cx);
        }
        alarm.map(|alarm| {
            tracing::debug!("a connection was closed: {alarm:?}");
            Ok(())
        })
    }
}
