//! The end of an application, orderly or not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use pointwork_embed::{
    Answer, AnswerCell, AppOptions, Body, Chunk, Component, Ended, ErrorKind, Function, Host, ModuleOptions, OffFiber,
    Payload, Progress, RouteOptions, ServerOptions, Threads, Waiting, within,
};

use crate::world::{PATIENCE, asking, get, handler, host, host_with, later, listener, load, request, send, until};

fn close(host: &Host) {
    let closing = host.close();
    let closed = async move {
        closing.await;
        Ok(())
    };
    host.wait(closed, Waiting::forever()).unwrap();
}

#[test]
fn a_close_lets_requests_end_and_refuses_later_ones() {
    let host = host();
    let (begun, has_begun) = mpsc::channel();
    let function = listener(move |_, answer| {
        begun.send(()).unwrap();
        later(move || answer.send(Ok(Payload::json("drained").unwrap())).unwrap());
    });
    host.listen("db", "ask", function).unwrap();
    load(&host, "ends", &asking());
    let (progress, ending) = send(&host, request("GET", "/ask", Body::empty()));
    assert!(matches!(progress, Progress::Pending(_)));
    has_begun.recv().unwrap();
    close(&host);
    close(&host);
    assert_eq!(crate::world::text(ending.reply()), "\"drained\"");
    assert_eq!(get(&host, "/plain").status(), 503);
    let loading = host.load("late", Component::Bytes(asking().build().into()), ModuleOptions::new());
    assert_eq!(
        host.wait(loading, Waiting::forever()).unwrap_err().kind(),
        ErrorKind::Closed
    );
    let (sender, receiver) = mpsc::channel();
    host.run(host.roll_back("ends"), move |result| sender.send(result).unwrap())
        .unwrap();
    assert_eq!(
        receiver.recv_timeout(PATIENCE).unwrap().unwrap_err().kind(),
        ErrorKind::Closed
    );
    let error = host.listen("db", "other", listener(|_, _| {})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn a_request_whose_function_never_answers_ends_with_its_application() {
    let host = host_with(AppOptions::new().drain(Duration::from_millis(50)));
    let kept: Arc<Mutex<Vec<_>>> = Arc::default();
    let keep = kept.clone();
    host.listen(
        "db",
        "ask",
        listener(move |_, answer| keep.lock().unwrap().push(answer)),
    )
    .unwrap();
    load(&host, "ends", &asking());
    let (_, ending) = send(&host, request("GET", "/ask", Body::empty()));
    // The guest may have been interrupted before it called.
    until(|| !kept.lock().unwrap().is_empty());
    close(&host);
    match ending.0.recv_timeout(PATIENCE).expect("it ends") {
        Ended::Reply(reply) => assert_eq!(reply.status(), 503),
        Ended::Cancelled => {}
    }
    let late = kept.lock().unwrap().pop().unwrap();
    assert!(late.send(Ok(Payload::null())).is_err());
}

#[test]
fn the_built_in_server_serves_until_it_is_stopped() {
    let host = host();
    host.listen(
        "db",
        "ask",
        listener(|_, answer| answer.send(Ok(Payload::json("served").unwrap())).unwrap()),
    )
    .unwrap();
    load(&host, "ends", &asking());
    let server = host
        .wait(host.serve("127.0.0.1:0", ServerOptions::new()), Waiting::forever())
        .unwrap()
        .unwrap();
    let fetch = || {
        let mut client = TcpStream::connect(server.address()).ok()?;
        client
            .write_all(b"GET /ask HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .ok()?;
        let mut reply = String::new();
        client.read_to_string(&mut reply).ok()?;
        Some(reply)
    };
    let reply = fetch().unwrap();
    assert!(
        reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\"served\""),
        "{reply}"
    );
    let taken = host
        .wait(
            host.serve(&server.address().to_string(), ServerOptions::new()),
            Waiting::forever(),
        )
        .unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Host);
    assert!(taken.to_string().contains("is in use"), "{taken}");
    server.stop();
    host.wait(
        {
            let stopped = server.stopped();
            async move {
                stopped.await;
                Ok(())
            }
        },
        Waiting::forever(),
    )
    .unwrap();
    until(|| fetch().is_none());
}

#[test]
fn two_hundred_applications_leave_no_thread_and_no_descriptor() {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let program = std::env::current_exe().unwrap();
    // In a process of its own: other tests have threads too.
    if std::env::var_os("EMBED_OPENS_AND_CLOSES").is_none() {
        let status = std::process::Command::new(program)
            .args([
                "--exact",
                "ends::two_hundred_applications_leave_no_thread_and_no_descriptor",
                "--nocapture",
            ])
            .env("EMBED_OPENS_AND_CLOSES", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let guest = asking();
    let open = || {
        let host = host();
        load(&host, "ends", &guest);
        assert_eq!(crate::world::text(get(&host, "/plain")), "plain");
        host
    };
    close(&open());
    let (threads, descriptors) = (count("/proc/self/task"), count("/proc/self/fd"));
    for number in 0..200 {
        let host = host();
        if number % 20 == 0 {
            load(&host, "ends", &guest);
        }
        assert_eq!(get(&host, "/none").status(), 404);
        // Every other one is dropped without a close.
        if number % 2 == 0 {
            close(&host);
        }
    }
    until(|| count("/proc/self/task") <= threads && count("/proc/self/fd") <= descriptors);
}

#[test]
fn a_child_of_a_fork_gets_an_error() {
    let host = host();
    // SAFETY: the child calls two functions, which allocate a message each, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = host.handle(request("GET", "/", Body::empty()), |_| {});
        let further = Host::start(AppOptions::new(), &Threads::default());
        let is_told = refused.is_err_and(|error| error.kind() == ErrorKind::Forked)
            && further.is_err_and(|error| error.kind() == ErrorKind::Forked);
        // SAFETY: it ends the child, without the destructors of a process that is not its own.
        unsafe { libc::_exit(if is_told { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the status is a place for an integer.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
    assert_eq!(get(&host, "/").status(), 404);
}

/// Whether this test runs in a process of its own, where no other test has threads. Otherwise it is run in one now.
fn is_alone(test: &str) -> bool {
    if std::env::var_os("EMBED_ALONE").is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let mut alone = std::process::Command::new(program);
    alone.args(["--exact", test, "--nocapture"]).env("EMBED_ALONE", "1");
    assert!(alone.status().unwrap().success());
    false
}

#[test]
fn a_blocking_close_leaves_no_thread_and_needs_no_locals_of_the_thread() {
    struct AtEnd(Host);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            // The locals of tokio may have been dropped before this one.
            assert_eq!(self.0.close_blocking(Waiting::forever()).unwrap(), Some(()));
        }
    }

    thread_local! {
        static LAST: std::cell::RefCell<Option<AtEnd>> = const { std::cell::RefCell::new(None) };
    }

    if !is_alone("ends::a_blocking_close_leaves_no_thread_and_needs_no_locals_of_the_thread") {
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for _ in 0..5 {
        let host = host();
        load(&host, "ends", &asking());
        assert_eq!(get(&host, "/plain").status(), 200);
        assert_eq!(host.close_blocking(Waiting::forever()).unwrap(), Some(()));
        assert_eq!(host.close_blocking(Waiting::forever()).unwrap(), Some(()));
        // The system lists a thread for a moment that was joined.
        until(|| threads() <= before);
        let other = crate::world::host();
        let thread = std::thread::spawn(move || LAST.set(Some(AtEnd(other))));
        assert!(thread.join().is_ok());
        until(|| threads() <= before);
    }
}

#[test]
fn waits_that_are_limited_end_and_what_they_waited_for_goes_its_way() {
    let host = host_with(AppOptions::new().drain(Duration::from_millis(500)));
    let (keep, kept) = mpsc::channel();
    let function = listener(move |_, answer| keep.send(answer).unwrap());
    host.listen("db", "ask", function).unwrap();
    load(&host, "ends", &asking());
    let soon = || Waiting::forever().at_most(Some(Duration::from_millis(20)));
    let waited = host.handle_blocking(request("GET", "/ask", Body::empty()), soon());
    assert!(waited.unwrap().is_none());
    // Another thread may still run the instance of the request.
    let answer = kept.recv().unwrap();
    until(|| answer.is_cancelled());
    let (done, is_done) = mpsc::channel();
    let endless = within(Some(Duration::from_millis(20)), std::future::pending());
    host.run(endless, move |result: Result<(), _>| done.send(result).unwrap())
        .unwrap();
    let error = is_done.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!((error.kind(), error.kind().name()), (ErrorKind::TimedOut, "timed-out"));
    let (_, ending) = send(&host, request("GET", "/ask", Body::empty()));
    assert_eq!(host.close_blocking(soon()).unwrap(), None);
    assert_eq!(host.close_blocking(Waiting::forever()).unwrap(), Some(()));
    assert!(ending.0.recv_timeout(PATIENCE).is_ok());
}

#[test]
fn an_end_breaks_a_body_off_whose_next_chunk_is_not_there() {
    let host = host_with(AppOptions::new().drain(Duration::from_millis(50)));
    let (gone, is_gone) = mpsc::channel();
    let (keep, kept) = mpsc::channel();
    let within = host.clone();
    let source = Function::new(move |(), answer: Answer<Chunk>| {
        let (answer, gone) = (AnswerCell::from(answer), gone.clone());
        within.when_gone(&answer, move || gone.send(()).unwrap());
        keep.send(answer).unwrap();
    });
    let mut chunks = host.chunks(host.body(source, None));
    let reading = std::thread::spawn(move || chunks.next_blocking(Waiting::forever()));
    let answer = kept.recv_timeout(PATIENCE).unwrap();
    close(&host);
    let Some(Chunk::Failed(reason)) = reading.join().unwrap() else {
        panic!("it does not break off")
    };
    assert!(reason.contains("the application was closed"), "{reason}");
    is_gone.recv_timeout(PATIENCE).expect("the source is told");
    assert!(answer.send(Chunk::End).is_err());
}

#[test]
fn destructors_of_refused_functions_use_the_application() {
    struct Uses(Host, mpsc::Sender<usize>);

    impl Drop for Uses {
        fn drop(&mut self) {
            self.0
                .listen(
                    "dropped",
                    &format!("event{}", self.0.figures().unwrap().routes),
                    listener(|_, _| {}),
                )
                .ok();
            let _ = self.1.send(self.0.figures().unwrap().routes);
        }
    }

    let host = host();
    let (dropped, is_dropped) = mpsc::channel();
    host.listen("db", "ask", listener(|_, _| {})).unwrap();
    load(&host, "ends", &asking());
    let uses = OffFiber::new(Uses(host.clone(), dropped.clone()));
    let function = listener(move |_, _| {
        let _uses = &uses;
    });
    assert_eq!(
        host.listen("db", "ask", function).unwrap_err().kind(),
        ErrorKind::Refused
    );
    let uses = OffFiber::new(Uses(host.clone(), dropped));
    let function = handler(move |_, _| {
        let _uses = &uses;
    });
    let refused = host.route(Some("GET"), "/plain", RouteOptions::default(), function);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!((is_dropped.recv().unwrap(), is_dropped.recv().unwrap()), (3, 3));
}
