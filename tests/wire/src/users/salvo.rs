//! Routers of salvo's, with hoops and a catcher.

use http::StatusCode;
use pointwork_core::Extensions;
use pointwork_salvo::Salvo;
use salvo_core::catcher::Catcher;
use salvo_core::conn::tcp::TcpAcceptor;
use salvo_core::{Depot, FlowCtrl, Handler, Request, Response, Router, Server, Service, async_trait, handler};

use super::{Application, Mounted, User, ada, echo, listen, seen};

#[handler]
async fn see(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let body = req.payload().await.cloned().unwrap_or_default();
    let matched = (
        req.uri().to_owned(),
        req.matched_path().to_owned(),
        format!("{:?}", **req.params()),
        req.extensions().len(),
        depot.get_typed::<Salvo>().is_ok(),
    );
    // With `fix-http1-request-uri`, salvo makes a target absolute.
    let target = req.uri().path_and_query().map_or("", |target| target.as_str());
    let line = (req.method(), target);
    let user = req.extensions().get::<Extensions>();
    res.render(seen(line, req.headers(), user, matched, body));
    ctrl.skip_rest();
}

#[handler]
async fn upgrade(req: &mut Request, res: &mut Response) {
    echo(req.extensions_mut());
    res.status_code(StatusCode::SWITCHING_PROTOCOLS);
    let _ = res.add_header("upgrade", "websocket", true);
}

/// Replies with this text.
struct Text(&'static str);

#[async_trait]
impl Handler for Text {
    async fn handle(&self, _: &mut Request, _: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        res.render(self.0);
    }
}

#[handler]
async fn inner(res: &mut Response) {
    let _ = res.add_header("x-inner", "yes", false);
}

/// The middleware around everything, with a limit for bodies.
struct Outer(Option<usize>);

#[async_trait]
impl Handler for Outer {
    async fn handle(&self, req: &mut Request, _: &mut Depot, res: &mut Response, _: &mut FlowCtrl) {
        req.extensions_mut().insert(ada());
        if let Some(limit) = self.0 {
            req.limit_body(limit);
        }
        let _ = res.add_header("x-outer", "yes", false);
    }
}

/// Serves an application on salvo's own server.
///
/// # Panics
/// If no port is free.
pub async fn serve(service: impl Into<Service>) -> User {
    let (listener, user) = listen().await;
    let (acceptor, service) = (TcpAcceptor::try_from(listener).unwrap(), service.into());
    tokio::spawn(async move { Server::new(acceptor).serve(service).await });
    user
}

impl Mounted for Salvo {
    async fn serve_own(application: Application<Self>) -> User {
        let own = Router::with_hoop(inner)
            .push(Router::with_path("users/{name}").post(see))
            .push(Router::with_path("unread").post(Text("unread")))
            .push(Router::with_path("socket").get(upgrade))
            .push(Router::with_path("api/behind").get(Text("behind")));
        let mut router = Router::new().push(Router::with_path("api/before").get(Text("before")));
        if let Some(below) = application.below {
            router = router.push(below.router());
        }
        let mut service = Service::new(router.push(own)).hoop(Outer(application.body_limit));
        for salvo in application.in_front {
            service = service.hoop(salvo.in_front());
        }
        serve(service.catcher(Catcher::default().hoop(inner).hoop(see))).await
    }
}
