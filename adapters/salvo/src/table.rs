//! One table of the core as routers of salvo's.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use pointwork_core::Router;
use pointwork_core::routing::Shape;
use salvo_core::routing::{Filter, PathFilter, PathState};
use salvo_core::{Handler, Request, async_trait};

use crate::goal::{Goal, Matched};
use crate::syntax;

/// What answers requests until the next table.
pub(crate) struct Table {
    router: Router,
    /// One router for each shape, at the shape's index; `None` where salvo's syntax cannot hold the pattern. They are not
    /// the children of one, which would ask them one after the other.
    natives: Box<[Option<salvo_core::Router>]>,
    /// For whatever no native router takes.
    miss: Arc<dyn Handler>,
}

impl Table {
    pub(crate) fn new(router: &Router, body_timeout: Option<Duration>) -> Self {
        let goal = |matched| Goal::new(router.clone(), matched, body_timeout);
        let native = |shape: &Shape| {
            let path = syntax::path(shape.pattern())?;
            let mut native = salvo_core::Router::new();
            if !shape.takes_every_method() {
                native = native.filter(Methods::of(shape));
            }
            // salvo wants no filter for the root.
            if !path.is_empty() {
                native = native.filter(PathFilter::try_new(&path).ok()?);
            }
            Some(native.goal(goal(Some(Matched::new(shape, path)))))
        };
        Self {
            natives: router.shapes().iter().map(native).collect(),
            miss: Arc::new(goal(None)),
            router: router.clone(),
        }
    }

    /// The goal of the router that takes the request, or that of none.
    pub(crate) async fn find(&self, req: &mut Request) -> Arc<dyn Handler> {
        self.detect(req).await.unwrap_or_else(|| self.miss.clone())
    }

    /// Asks the one native router that the core points to; it takes the request or leaves it.
    async fn detect(&self, req: &mut Request) -> Option<Arc<dyn Handler>> {
        let uri = req.uri().clone();
        let shape = self.router.locate(req.method(), &uri)?;
        let native = self.natives.get(shape.index())?.as_ref()?;
        let found = native
            .detect(req, &mut PathState::from_borrowed_path(uri.path()))
            .await?;
        Some(found.goal)
    }
}

/// Takes the methods that a shape has routes for, whichever they are (spec A4), and HEAD where there is GET (spec A8).
#[derive(Debug)]
struct Methods(Box<[Method]>);

impl Methods {
    fn of(shape: &Shape) -> Self {
        let gets = shape.methods().any(|method| method == Method::GET);
        Self(shape.methods().cloned().chain(gets.then_some(Method::HEAD)).collect())
    }
}

#[async_trait]
impl Filter for Methods {
    async fn filter(&self, req: &mut Request, _: &mut PathState<'_>) -> bool {
        self.0.contains(req.method())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use pointwork_core::routing::{MethodFilter, Pattern};
    use pointwork_core::{BoxFuture, Bus, BusOptions, Context, Executor, Origin, Route, RouteRecord, RouterOptions};

    use super::*;

    struct Nowhere;

    impl Executor for Nowhere {
        fn spawn(&self, _: BoxFuture<'static, ()>) {}

        fn sleep_until(&self, _: Instant) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn table(routes: &[(&str, &str)]) -> Table {
        let route = |(method, path): &(&str, &str)| Route {
            filter: MethodFilter::parse((*method != "ALL").then_some(*method)).unwrap(),
            pattern: Pattern::parse(path).unwrap(),
            record: Arc::new(RouteRecord {
                method: (*method).to_owned(),
                path: (*path).to_owned(),
                origin: Origin::Manual,
                module: None,
                controller: None,
                handler: None,
                unavailable_on: Vec::new(),
            }),
            handler: Arc::new(async |_: Context| "reply"),
        };
        let executor = Arc::new(Nowhere);
        let bus = Bus::new(executor.clone(), BusOptions::default());
        let routes = routes.iter().map(route).collect();
        Table::new(
            &Router::new(routes, RouterOptions::default(), bus, executor).unwrap(),
            None,
        )
    }

    /// Whether a native router takes the request.
    async fn takes(table: &Table, method: &str, target: &str) -> bool {
        let request = http::Request::builder().method(method).uri(target);
        let request = request.body(salvo_core::http::ReqBody::None).unwrap();
        let mut request = Request::from_hyper(request, http::uri::Scheme::HTTP);
        table.detect(&mut request).await.is_some()
    }

    #[tokio::test]
    async fn every_kind_of_segment_is_taken_natively() {
        let table = table(&[
            ("GET", "/"),
            ("GET", "/a"),
            ("GET", "/a/:x"),
            ("GET", "/a/:x/b"),
            ("GET", "/a/:x/*rest"),
            ("GET", "/caf%C3%A9/%2A"),
        ]);
        for target in [
            "/",
            "/a",
            "/a/1",
            "/a/1/b",
            "/a/1/2/3/",
            "/a/x%2Fy",
            "/caf%C3%A9/*",
            "/%61",
            "http://h/a",
        ] {
            assert!(takes(&table, "GET", target).await, "{target}");
        }
        for target in ["/b", "/a/", "//a", "/a//b", "*", "/ab"] {
            assert!(!takes(&table, "GET", target).await, "{target}");
        }
    }

    #[tokio::test]
    async fn every_method_is_taken_natively() {
        let table = table(&[("GET", "/a"), ("PURGE", "/a"), ("X-any", "/b"), ("ALL", "/c")]);
        for (method, target) in [
            ("GET", "/a"),
            ("HEAD", "/a"),
            ("PURGE", "/a"),
            ("X-any", "/b"),
            ("NOTIFY", "/c"),
        ] {
            assert!(takes(&table, method, target).await, "{method} {target}");
        }
        for (method, target) in [("POST", "/a"), ("OPTIONS", "/a"), ("HEAD", "/b"), ("x-ANY", "/b")] {
            assert!(!takes(&table, method, target).await, "{method} {target}");
        }
    }

    #[tokio::test]
    async fn what_salvos_syntax_cannot_hold_is_taken_by_none() {
        let table = table(&[("GET", "/{a}/:x"), ("GET", "/a%2Fb"), ("GET", "/fine")]);
        assert!(!takes(&table, "GET", "/%7Ba%7D/1").await);
        assert!(!takes(&table, "GET", "/a%2Fb").await);
        assert!(takes(&table, "GET", "/fine").await);
    }
}
