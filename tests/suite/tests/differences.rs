//! Declared differences are let through, and only they: shown on stand-ins for the adapters that have them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use pointwork::ModuleStatus;
use pointwork_core::routing::MethodFilter;
use pointwork_core::{BoxFuture, Error, Reporter, RouteRecord, Router, Staged, Transport};
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::cases;
use pointwork_suite::differences::Differences;
use pointwork_suite::fixtures::Fixtures;
use pointwork_suite::fuzz::{Disagreement, Plan, run};
use pointwork_suite::subject::{AppSpec, Control, Refusal, Step, Subject};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// The adapter that the stand-ins are made of.
fn sound() -> Result<OnAdapter> {
    let subject = adapters::subjects()
        .into_iter()
        .find(|subject| subject.name() == "hyper");
    subject.context("there is no adapter `hyper`")
}

/// A sound adapter under the name of one that is declared to differ.
struct Renamed(OnAdapter, &'static str);

impl Subject for Renamed {
    fn name(&self) -> &'static str {
        self.1
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        self.0.start(app)
    }
}

/// A server with a closed list of methods, which answers others by itself as trillium's is declared to.
struct Closed(OnAdapter);

impl Closed {
    fn new() -> Result<Self> {
        Ok(Self(sound()?.wrapped(|inner| Arc::new(Picky(inner)))))
    }
}

impl Subject for Closed {
    fn name(&self) -> &'static str {
        "trillium"
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        Box::pin(async move {
            let control = self.0.start(app).await?;
            let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let front = front.map_err(|error| Refusal::of(&error))?;
            let address = front.local_addr().map_err(|error| Refusal::of(&error))?;
            tokio::spawn(pick(front, control.address()));
            Ok(Box::new(Fronted { control, address }) as Box<dyn Control>)
        })
    }
}

async fn pick(front: TcpListener, back: SocketAddr) {
    while let Ok((client, _)) = front.accept().await {
        tokio::spawn(forward(client, back));
    }
}

/// Looks at the first method of a connection.
async fn forward(mut client: TcpStream, back: SocketAddr) -> std::io::Result<()> {
    let mut read = Vec::new();
    while !read.contains(&b' ') {
        if client.read_buf(&mut read).await? == 0 {
            break;
        }
    }
    let method = read.split(|byte| *byte == b' ').next().unwrap_or_default();
    if Differences::declared()
        .instead("trillium", &String::from_utf8_lossy(method))
        .is_some()
    {
        let refusal = b"HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return client.write_all(refusal).await;
    }
    let mut server = TcpStream::connect(back).await?;
    server.write_all(&read).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

struct Fronted {
    control: Box<dyn Control>,
    address: SocketAddr,
}

impl Control for Fronted {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>> {
        self.control.apply(step)
    }

    fn routes(&self) -> Vec<RouteRecord> {
        self.control.routes()
    }

    fn route_count(&self) -> usize {
        self.control.route_count()
    }

    fn events_refused(&self) -> u64 {
        self.control.events_refused()
    }

    fn statuses(&self) -> Vec<ModuleStatus> {
        self.control.statuses()
    }

    fn requests_in_flight(&self) -> usize {
        self.control.requests_in_flight()
    }

    fn bind_again(&self, address: SocketAddr) -> BoxFuture<'_, Result<(), Refusal>> {
        self.control.bind_again(address)
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.control.shutdown()
    }
}

/// The transport of [`Closed`], which knows what it cannot serve.
struct Picky(Arc<dyn Transport>);

impl Transport for Picky {
    fn name(&self) -> &'static str {
        "trillium"
    }

    fn attach(&self, reporter: Reporter) {
        self.0.attach(reporter);
    }

    fn serves(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            MethodFilter::Only(method) => Differences::declared().instead("trillium", method.as_str()).is_none(),
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        self.0.stage(router)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_that_is_gone_is_a_failure() -> Result<()> {
    for adapter in ["trillium", "actix"] {
        let probes = Differences::declared().probes(adapter);
        ensure!(!probes.is_empty(), "nothing is declared of {adapter}");
        for probe in probes {
            let verdict = probe.run(&Renamed(sound()?, adapter)).await;
            ensure!(verdict.is_err(), "{} on {adapter} is said to be seen", probe.name());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declared_difference_is_let_through() -> Result<()> {
    let closed = Closed::new()?;
    let probes = Differences::declared().probes("trillium").into_iter();
    for probe in probes.filter(|probe| probe.name() == "closed_list_of_methods") {
        probe.run(&closed).await?;
    }
    run(&[&sound()?, &closed], Plan { seed: 11, cases: 1000 }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_take_the_declared_answer() -> Result<()> {
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    for name in [
        "a_route_that_the_framework_cannot_serve_is_told_once",
        "every_attribute_method_has_routes",
        "any_token_is_a_method",
        "all_answers_every_method",
        "a_route_of_the_very_method_beats_all",
        "every_attribute_has_its_operation",
    ] {
        let case = cases::named(name);
        case.run(Arc::new(Closed::new()?), fixtures.clone())
            .await
            .context(name)?;
    }
    Ok(())
}

/// What is declared of one adapter is a failure of any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undeclared_difference_is_a_failure() -> Result<()> {
    struct Undeclared(Closed);
    impl Subject for Undeclared {
        fn name(&self) -> &'static str {
            "salvo"
        }

        fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
            self.0.start(app)
        }
    }
    let closed = Arc::new(Undeclared(Closed::new()?));
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    let verdict = cases::named("any_token_is_a_method")
        .run(closed.clone(), fixtures)
        .await;
    ensure!(verdict.is_err(), "a case takes it");
    let verdict = run(&[&sound()?, &*closed], Plan { seed: 11, cases: 1000 }).await;
    let found = verdict.err().and_then(|error| error.downcast::<Disagreement>().ok());
    ensure!(found.is_some(), "random requests do not show it");
    Ok(())
}
