//! The requests from Rust.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};
use std::time::Instant;
use std::{fs, thread};

use futures_executor::block_on;
use pointwork::http::Request;
use pointwork::{App, AppOptions, Body, Delivery, Failure, Payload};
use tokio::sync::oneshot;

use super::{IN_FLIGHT, LATER, REQUESTS, clock, component};

/// An application in this process.
pub(crate) struct Host {
    app: App,
    kept: Arc<Mutex<Vec<oneshot::Sender<()>>>>,
}

impl Host {
    pub(crate) fn start() -> Self {
        let mut options = AppOptions::new();
        (options.limits.instances, options.max_instances) = (IN_FLIGHT, 1_100);
        let app = App::with_options(options).expect("it starts");
        let answers = answerer();
        let kept = Arc::<Mutex<Vec<_>>>::default();
        let keeps = kept.clone();
        app.channel("db")
            .on_raw("ask", |_: Delivery, _: Payload| async {
                Ok::<_, Failure>(Payload::null())
            })
            .expect("it listens")
            .on_raw("later", move |_: Delivery, _: Payload| {
                let (sender, receiver) = oneshot::channel();
                let _ = answers.send(sender);
                answered(receiver)
            })
            .expect("it listens")
            .on_raw("keep", move |_: Delivery, _: Payload| {
                let (sender, receiver) = oneshot::channel();
                keeps.lock().expect("no panic").push(sender);
                answered(receiver)
            })
            .expect("it listens");
        block_on(app.module("shop").bytes(component()).load()).expect("it loads");
        Self { app, kept }
    }

    fn requests(&self, path: &str, number: usize) {
        for _ in 0..number {
            let reply = block_on(self.app.handle(request(path)));
            assert!(reply.status().is_success(), "{path}: {}", reply.status());
        }
    }

    fn on_thread(&self, path: &str) -> f64 {
        let begun = clock(libc::CLOCK_THREAD_CPUTIME_ID);
        self.requests(path, REQUESTS);
        (clock(libc::CLOCK_THREAD_CPUTIME_ID) - begun) / REQUESTS as f64
    }

    /// The figures of a round.
    pub(crate) fn round(&self) -> Vec<f64> {
        let (plain, ask) = (self.on_thread("/plain"), self.on_thread("/ask"));
        let (begun, time, switches) = (clock(libc::CLOCK_PROCESS_CPUTIME_ID), Instant::now(), switches());
        self.requests("/later", LATER);
        let number = LATER as f64;
        let spent = (clock(libc::CLOCK_PROCESS_CPUTIME_ID) - begun) / number;
        let took = time.elapsed().as_secs_f64() * 1e6 / number;
        vec![plain, ask, spent, took, (self::switches() - switches) / number]
    }

    /// The memory of each request in flight, in KiB.
    pub(crate) fn memory(&self) -> f64 {
        let before = resident();
        let mut replies: Vec<_> = (0..IN_FLIGHT)
            .map(|_| Box::pin(self.app.handle(request("/keep"))))
            .collect();
        let mut cx = TaskContext::from_waker(Waker::noop());
        for reply in &mut replies {
            assert!(reply.as_mut().poll(&mut cx).is_pending());
        }
        let grown = resident() - before;
        self.kept
            .lock()
            .expect("no panic")
            .drain(..)
            .for_each(|answer| answer.send(()).expect("it waits"));
        for reply in replies {
            assert!(block_on(reply).status().is_success());
        }
        grown / IN_FLIGHT as f64
    }
}

fn request(path: &str) -> Request<Body> {
    let request = Request::get(path).header("host", "localhost").body(Body::empty());
    request.expect("a request")
}

async fn answered(answer: oneshot::Receiver<()>) -> Result<Payload, Failure> {
    let _ = answer.await;
    Ok(Payload::null())
}

/// A thread that answers.
fn answerer() -> Sender<oneshot::Sender<()>> {
    let (sender, receiver) = mpsc::channel::<oneshot::Sender<()>>();
    thread::spawn(move || {
        for answer in receiver {
            let _ = answer.send(());
        }
    });
    sender
}

/// How often threads of this process waited.
fn switches() -> f64 {
    // SAFETY: zeroes are a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the usage is a place for the result.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_nvcsw as f64
}

/// The memory of this process, in KiB.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
