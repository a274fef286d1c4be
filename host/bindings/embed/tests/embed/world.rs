//! An application, modules, and functions that play another language.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pointwork_embed::http::{Request, Response};
use pointwork_embed::{
    Answer, AppOptions, Body, ChannelFunction, Chunk, Component, Ended, EventCall, Fault, Function, Host,
    ModuleOptions, OffFiber, Payload, Progress, RouteCall, RouteFunction, Threads, Waiting,
};
use pointwork_suite::guest::{Controller, End, Guest, Program, Step};
use pointwork_suite::languages::compiler;
use pointwork_test_clock::TestClock;
pub(crate) use pointwork_test_clock::real::PATIENCE;
use pointwork_test_clock::real::until_blocking;

use crate::stack;

pub(crate) fn host() -> Host {
    host_with(AppOptions::new().drain(Duration::from_secs(20)))
}

pub(crate) fn host_with(mut options: AppOptions) -> Host {
    options.compile.worker = Some(compiler());
    let mut threads = Threads::default();
    threads.workers = Some(2);
    Host::start(options, &threads).expect("it starts")
}

pub(crate) fn load(host: &Host, name: &str, guest: &Guest) {
    let component = Component::Bytes(guest.build().into());
    let loading = host.load(name, component, ModuleOptions::new());
    host.wait(loading, Waiting::forever()).expect("it loads");
}

/// `GET /ask` calls `db:ask` with the text `said`, `GET /plain` calls nothing, `POST /echo` sends the body back.
pub(crate) fn asking() -> Guest {
    Guest::with(
        Controller::new("Asking", "")
            .get("/ask", Program::text("said").call("db:ask"))
            .get("/plain", Program::text("plain"))
            .post("/echo", Program::new().step(Step::Echo).ends(End::Deferred))
            .takes("stream"),
    )
}

/// A destructor of the host's language.
pub(crate) struct Finaliser(pub(crate) mpsc::Sender<()>);

impl Drop for Finaliser {
    fn drop(&mut self) {
        stack::check("a destructor");
        let _ = self.0.send(());
    }
}

pub(crate) type EventAnswer = Answer<Result<Payload, Fault>>;

/// A function of the host's language for a channel.
pub(crate) fn listener(call: impl Fn(EventCall, EventAnswer) + Send + Sync + 'static) -> ChannelFunction {
    Function::new(move |event, answer| {
        stack::check("a function of a channel");
        call(event, answer);
    })
}

/// A function of the host's language for a route.
pub(crate) fn handler(
    call: impl Fn(RouteCall, Answer<Result<Option<Response<Body>>, Fault>>) + Send + Sync + 'static,
) -> RouteFunction {
    Function::new(move |request, answer| {
        stack::check("a function of a route");
        call(request, answer);
    })
}

pub(crate) fn request(method: &str, path: &str, body: Body) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.body(body).expect("a request")
}

/// Receives the end of a request.
pub(crate) struct Ending(pub(crate) mpsc::Receiver<Ended>);

impl Ending {
    pub(crate) fn reply(self) -> Response<Body> {
        match self.0.recv_timeout(PATIENCE).expect("it ends") {
            Ended::Reply(reply) => reply,
            Ended::Cancelled => panic!("it was cancelled"),
        }
    }
}

/// Sends a request that is driven by this thread.
pub(crate) fn send(host: &Host, request: Request<Body>) -> (Progress, Ending) {
    let (sender, receiver) = mpsc::channel();
    let finaliser = OffFiber::new(Finaliser(mpsc::channel().0));
    let done = move |ended| {
        stack::check("the end of a request");
        let _finaliser = &finaliser;
        sender.send(ended).expect("the test waits");
    };
    (host.handle(request, done).expect("it is sent"), Ending(receiver))
}

/// The reply to a GET request, whenever it comes.
pub(crate) fn get(host: &Host, path: &str) -> Response<Body> {
    match send(host, request("GET", path, Body::empty())) {
        (Progress::Ready(reply), _) => reply,
        (Progress::Pending(_), ending) => ending.reply(),
        (Progress::NotOurs(_), _) => panic!("there is no mount"),
    }
}

pub(crate) fn text(reply: Response<Body>) -> String {
    let bytes = reply.into_body().try_into_bytes().expect("a whole body");
    String::from_utf8(bytes.into()).expect("text")
}

/// Reads a body to its end, with wakers of the host's language.
pub(crate) fn read(host: &Host, body: Body) -> Result<Vec<u8>, String> {
    let mut chunks = host.chunks(body);
    let mut all = Vec::new();
    loop {
        let (sender, receiver) = mpsc::channel();
        let wake = move || {
            stack::check("a waker");
            let _ = sender.send(());
        };
        match chunks.next(wake) {
            Some(Chunk::Data(data)) => all.extend_from_slice(&data),
            Some(Chunk::End) => return Ok(all),
            Some(Chunk::Failed(reason)) => return Err(reason),
            None => receiver.recv_timeout(PATIENCE).expect("it is woken"),
        }
    }
}

/// Does something on another thread as soon as this thread waits.
pub(crate) fn later(work: impl FnOnce() + Send + 'static) {
    let caller = TestClock::new();
    caller.register_thread();
    thread::spawn(move || {
        caller.advance_blocking(Duration::ZERO);
        work();
    });
}

/// Waits for a condition.
pub(crate) fn until(is_so: impl Fn() -> bool) {
    until_blocking("the condition holds", || is_so().then_some(())).expect("it comes true");
}

/// Everything that was said, by any thread.
pub(crate) type Said<T> = Arc<std::sync::Mutex<Vec<T>>>;
