//! The end of an application, orderly or not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use pointwork_embed::{
    AppOptions, Body, Component, Ended, ErrorKind, Host, ModuleOptions, Payload, Progress, ServerOptions, Threads,
    Waiting,
};

use crate::world::{PATIENCE, asking, get, host, host_with, later, listener, load, request, send, until};

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
