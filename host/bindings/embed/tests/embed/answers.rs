//! Functions of the host's language, and their answers: at once, later, never, twice, by a panic.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use pointwork_embed::http::{Response, StatusCode};
use pointwork_embed::{
    AnswerCell, AnswerError, Body, ErrorKind, Failure, Fault, Payload, Place, Progress, RouteOptions, Runs, Waiting,
};
use pointwork_suite::guest::{Controller, Guest, Program, Step};

use crate::stack;
use crate::world::{Finaliser, Said, asking, get, handler, host, later, listener, load, request, send, text, until};

#[test]
fn an_answer_at_once_is_given_on_the_callers_thread_and_the_request_never_leaves_it() {
    let host = host();
    let seen: Said<thread::ThreadId> = Arc::default();
    let by_listener = seen.clone();
    let function = listener(move |event, answer| {
        by_listener.lock().unwrap().push(thread::current().id());
        assert_eq!((event.event(), event.payload.data()), ("ask", &b"said"[..]));
        assert!(event.request_id().is_some());
        answer.send(Ok(Payload::json("heard").unwrap())).unwrap();
    });
    host.listen("db", "ask", function).unwrap();
    load(&host, "answers", &asking());
    let mut here = 0;
    for _ in 0..50 {
        let before = seen.lock().unwrap().len();
        let (reply, is_ready) = match send(&host, request("GET", "/ask", Body::empty())) {
            (Progress::Ready(reply), _) => (reply, true),
            (_, ending) => (ending.reply(), false),
        };
        assert_eq!(text(reply), "\"heard\"");
        here += usize::from(is_ready && seen.lock().unwrap()[before..] == [thread::current().id()]);
    }
    // One that a busy machine interrupted goes on elsewhere.
    assert!(here > 0, "none was answered at once");
}

#[test]
fn an_answer_later_from_another_thread_ends_the_request_once() {
    let host = host();
    let function = listener(|_, answer| later(|| answer.send(Ok(Payload::json("late").unwrap())).unwrap()));
    host.listen("db", "ask", function).unwrap();
    load(&host, "answers", &asking());
    let (progress, ending) = send(&host, request("GET", "/ask", Body::empty()));
    assert!(matches!(progress, Progress::Pending(_)));
    let pointwork_embed::Ended::Reply(reply) = ending.0.recv().unwrap() else {
        panic!("cancelled")
    };
    assert_eq!(text(reply), "\"late\"");
    assert!(ending.0.recv().is_err(), "the function was called once and is gone");
}

#[test]
fn a_function_in_a_thread_of_its_own_may_block() {
    let host = host();
    let function = listener(|_, answer| {
        let (open, gate) = mpsc::channel();
        later(move || open.send(()).unwrap());
        gate.recv_timeout(crate::world::PATIENCE).unwrap();
        answer
            .send(Ok(Payload::json(&thread::current().name()).unwrap()))
            .unwrap();
    });
    host.listen("db", "ask", function.runs(Runs::Blocking)).unwrap();
    load(&host, "answers", &asking());
    assert_eq!(text(get(&host, "/ask")), "\"pointwork-host\"");
    let waited = host.handle_blocking(request("GET", "/ask", Body::empty()), Waiting::forever());
    assert_eq!(text(waited.unwrap().unwrap()), "\"pointwork-host\"");
}

#[test]
fn a_function_that_throws_panics_or_never_answers_fails_the_request_and_no_other() {
    let host = host();
    let function = listener(|event, answer| match event.payload.data() {
        b"throws" => answer
            .send(Err(Fault::Threw("KeyError: 'name' (shop.py:7)".to_owned())))
            .unwrap(),
        b"fails" => {
            let failure = Failure::new(StatusCode::NOT_FOUND, "no such product");
            answer.send(Err(Fault::Failed(failure))).unwrap();
        }
        b"panics" => panic!("a function of the host panics"),
        _ => drop(answer),
    });
    host.listen("db", "ask", function).unwrap();
    let crashes: Said<String> = Arc::default();
    let heard = crashes.clone();
    let report = listener(move |event, answer| {
        heard
            .lock()
            .unwrap()
            .push(String::from_utf8_lossy(event.payload.data()).into_owned());
        answer.send(Ok(Payload::null())).unwrap();
    });
    host.listen("server", "crashed", report).unwrap();
    let route = |word: &str| Program::text(word).call("db:ask");
    let controller = ["throws", "fails", "panics", "drops"]
        .iter()
        .fold(Controller::new("Asking", ""), |controller, word| {
            controller.get(&format!("/{word}"), route(word))
        });
    load(&host, "answers", &Guest::with(controller));
    assert_eq!(
        text(get(&host, "/throws")),
        "failed failed: the listener of `db:ask` raised an exception"
    );
    assert_eq!(text(get(&host, "/fails")), "failed failed: no such product");
    assert_eq!(
        text(get(&host, "/panics")),
        "failed failed: the listener of `db:ask` crashed"
    );
    assert_eq!(
        text(get(&host, "/drops")),
        "failed failed: the listener of `db:ask` crashed"
    );
    until(|| crashes.lock().unwrap().len() == 3);
    let crashes = crashes.lock().unwrap().join("\n");
    assert!(crashes.contains("KeyError: 'name' (shop.py:7)"), "{crashes}");
    assert_eq!(crashes.matches(r#""kind":"exception""#).count(), 1, "{crashes}");
    assert!(crashes.contains("without an answer"), "{crashes}");
}

#[test]
fn a_second_answer_is_refused_and_so_is_one_that_nobody_waits_for() {
    let host = host();
    let kept: Arc<Mutex<Vec<AnswerCell<_>>>> = Arc::default();
    let keep = kept.clone();
    let function = listener(move |_, answer| keep.lock().unwrap().push(answer.into()));
    host.listen("db", "ask", function).unwrap();
    load(&host, "answers", &asking());
    let (_, ending) = send(&host, request("GET", "/ask", Body::empty()));
    let first = kept_answer(&kept);
    assert!(!first.is_cancelled());
    assert_eq!(first.send(Ok(Payload::null())), Ok(()));
    assert_eq!(first.send(Ok(Payload::null())), Err(AnswerError::Twice));
    assert_eq!(text(ending.reply()), "null");

    let (progress, ending) = send(&host, request("GET", "/ask", Body::empty()));
    let Progress::Pending(in_flight) = progress else {
        panic!("nobody answered")
    };
    let second = kept_answer(&kept);
    in_flight.cancel();
    assert!(matches!(ending.0.recv(), Ok(pointwork_embed::Ended::Cancelled)));
    in_flight.cancel();
    until(|| second.is_cancelled());
    assert_eq!(second.send(Ok(Payload::null())), Err(AnswerError::Gone));
    assert!(ending.0.recv().is_err(), "it ended once");
}

#[test]
fn a_function_is_told_that_nobody_waits_any_more() {
    let host = host();
    let kept: Arc<Mutex<Vec<AnswerCell<_>>>> = Arc::default();
    let told: Arc<Mutex<Vec<&str>>> = Arc::default();
    let (keep, tell) = (kept.clone(), told.clone());
    let within = host.downgrade();
    let function = listener(move |_, answer| {
        let answer: AnswerCell<_> = answer.into();
        let (tell, dropped) = (tell.clone(), Noted(tell.clone()));
        within.upgrade().unwrap().when_gone(&answer, move || {
            stack::check("gone");
            tell.lock().unwrap().push("gone");
            drop(dropped);
        });
        keep.lock().unwrap().push(answer);
    });
    host.listen("db", "ask", function).unwrap();
    load(&host, "answers", &asking());

    let (_, ending) = send(&host, request("GET", "/ask", Body::empty()));
    kept_answer(&kept).send(Ok(Payload::null())).unwrap();
    assert_eq!(text(ending.reply()), "null");
    until(|| *told.lock().unwrap() == ["dropped"]);

    let (progress, _ending) = send(&host, request("GET", "/ask", Body::empty()));
    let Progress::Pending(in_flight) = progress else {
        panic!("nobody answered")
    };
    let late = kept_answer(&kept);
    in_flight.cancel();
    until(|| *told.lock().unwrap() == ["dropped", "gone", "dropped"]);
    // Nobody waits any more: another function is told at once. One for an answer that was given is dropped.
    let tell = told.clone();
    host.when_gone(&late, move || tell.lock().unwrap().push("late"));
    until(|| told.lock().unwrap().last() == Some(&"late"));
    let _ = late.send(Ok(Payload::null()));
    let dropped = Noted(told.clone());
    host.when_gone(&late, move || drop(dropped));
    assert_eq!(told.lock().unwrap().last(), Some(&"dropped"));
}

/// The answer of a function that keeps it. The guest may be interrupted before it calls the function.
fn kept_answer<A>(kept: &Mutex<Vec<A>>) -> A {
    until(|| !kept.lock().unwrap().is_empty());
    kept.lock().unwrap().pop().unwrap()
}

/// Notes its drop.
struct Noted(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Noted {
    fn drop(&mut self) {
        stack::check("the drop of a function");
        self.0.lock().unwrap().push("dropped");
    }
}

#[test]
fn a_function_may_send_requests_itself_but_not_without_end() {
    // An asynchronous module serves them all in one instance.
    for asynchronous in [false, true] {
        function_sends_requests(asynchronous);
    }
}

fn function_sends_requests(asynchronous: bool) {
    let host = host();
    let within = host.clone();
    let function = listener(move |_, answer| {
        let reply = within.handle_blocking(request("GET", "/plain", Body::empty()), Waiting::forever());
        let text = text(reply.unwrap().unwrap());
        answer.send(Ok(Payload::json(&text).unwrap())).unwrap();
    });
    host.listen("db", "ask", function).unwrap();
    let deepest: Arc<Mutex<Option<ErrorKind>>> = Arc::default();
    let (within, noted) = (host.clone(), deepest.clone());
    let function = listener(move |_, answer| {
        let reply = within.handle_blocking(request("GET", "/forever", Body::empty()), Waiting::forever());
        if let Err(error) = reply {
            *noted.lock().unwrap() = Some(error.kind());
        }
        answer.send(Ok(Payload::null())).unwrap();
    });
    host.listen("db", "forever", function).unwrap();
    let guest =
        asking().controller(Controller::new("Forever", "").get("/forever", Program::text("1").call("db:forever")));
    load(
        &host,
        "answers",
        &if asynchronous { guest.asynchronous() } else { guest },
    );
    assert_eq!(text(get(&host, "/ask")), "\"plain\"");
    assert_eq!(text(get(&host, "/forever")), "null");
    assert_eq!(*deepest.lock().unwrap(), Some(ErrorKind::Nested));
}

/// The first call ends on another thread, so that a task of the application goes on with the request and runs the function. The
/// function's own request waits for another thread too, and so does what it asks for in turn.
#[test]
fn a_function_that_a_task_of_the_application_runs_may_wait_for_requests_of_its_own() {
    for asynchronous in [false, true] {
        let host = host();
        let function = listener(|_, answer| later(|| answer.send(Ok(Payload::json("late").unwrap())).unwrap()));
        host.listen("db", "later", function).unwrap();
        let within = host.clone();
        let function = listener(move |event, answer| {
            let path = if event.payload.data() == b"1" {
                "/outer"
            } else {
                "/late"
            };
            let reply = within.handle_blocking(request("GET", path, Body::empty()), Waiting::forever());
            let text = text(reply.unwrap().unwrap());
            answer.send(Ok(Payload::json(&text).unwrap())).unwrap();
        });
        host.listen("db", "ask", function).unwrap();
        let asks = |said| Program::text("0").call("db:later").say(said).call("db:ask");
        let controller = Controller::new("Nested", "")
            .get("/late", Program::text("0").call("db:later"))
            .get("/outer", asks("2"))
            .get("/outermost", asks("1"));
        let guest = Guest::with(controller);
        load(
            &host,
            "nested",
            &if asynchronous { guest.asynchronous() } else { guest },
        );
        for _ in 0..20 {
            let waiting: Vec<_> = (0..4)
                .map(|_| send(&host, request("GET", "/outermost", Body::empty())))
                .collect();
            for (_, ending) in waiting {
                assert!(text(ending.reply()).contains("late"));
            }
        }
    }
}

/// An asynchronous guest calls on other threads than that of the request, and so does one that took long.
#[test]
fn a_function_that_asks_itself_through_other_threads_ends_too() {
    let host = host();
    let deepest: Arc<Mutex<Option<ErrorKind>>> = Arc::default();
    let (within, noted) = (host.clone(), deepest.clone());
    let function = listener(move |_, answer| {
        let reply = within.handle_blocking(request("GET", "/ask", Body::empty()), Waiting::forever());
        if let Err(error) = reply {
            *noted.lock().unwrap() = Some(error.kind());
        }
        answer.send(Ok(Payload::null())).unwrap();
    });
    host.listen("db", "ask", function.runs(Runs::Blocking)).unwrap();
    load(&host, "answers", &asking().asynchronous());
    assert_eq!(text(get(&host, "/ask")), "null");
    assert_eq!(*deepest.lock().unwrap(), Some(ErrorKind::Nested));
}

#[test]
fn a_route_of_the_host_answers_at_once_later_and_by_its_context() {
    let host = host();
    let at_once = handler(|call, answer| {
        let name = call.context.param("name").unwrap_or_default().to_owned();
        let mut chunks = call.body().unwrap();
        let pointwork_embed::Chunk::Data(body) = chunks.next(|| {}).unwrap() else {
            panic!("no body")
        };
        let reply = format!("{} {name} {}", call.context.method(), String::from_utf8_lossy(&body));
        answer.send(Ok(Some(Response::new(Body::from(reply))))).unwrap();
    });
    host.route(Some("POST"), "/hello/:name", RouteOptions::default(), at_once)
        .unwrap();
    let by_context = handler(|call, answer| {
        let context = call.context.clone();
        answer.send(Ok(None)).unwrap();
        later(move || context.send(Response::new(Body::from("by its context"))).unwrap());
    });
    host.route(None, "/later", RouteOptions::default(), by_context).unwrap();
    let (progress, _) = send(&host, request("POST", "/hello/Ada", Body::from("there")));
    let Progress::Ready(reply) = progress else {
        panic!("it waits")
    };
    assert_eq!(text(reply), "POST Ada there");
    assert_eq!(text(get(&host, "/later")), "by its context");
    let error = host
        .route(Some("POST"), "/hello/:id", RouteOptions::default(), handler(|_, _| {}))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("/hello/:name"), "{error}");
}

#[test]
fn emitted_events_and_handed_over_requests_reach_functions() {
    let host = host();
    let (sender, heard) = mpsc::channel();
    let function = listener(move |event, answer| {
        sender.send(event.payload.data().to_vec()).unwrap();
        answer.send(Ok(Payload::null())).unwrap();
    });
    host.listen("db", "seen", function).unwrap();
    let function = listener(|mut event, answer| {
        let context = event.take_request().expect("a request");
        assert!(event.take_request().is_none());
        answer.send(Ok(Payload::null())).unwrap();
        later(move || context.send(Response::new(Body::from("taken over"))).unwrap());
    });
    host.listen("db", "take", function).unwrap();
    let program = Program::text("1").emit("db:seen").say("2").hands_over("db:take");
    load(
        &host,
        "answers",
        &Guest::with(Controller::new("Emitting", "").get("/", program)),
    );
    assert_eq!(text(get(&host, "/")), "taken over");
    assert_eq!(heard.recv_timeout(crate::world::PATIENCE).unwrap(), b"1");
}

#[test]
fn a_call_that_is_dropped_on_its_fiber_drops_the_hosts_things_behind_it() {
    let host = host();
    let (dropped, receiver) = mpsc::channel();
    let kept: Arc<Mutex<Vec<_>>> = Arc::default();
    let keep = kept.clone();
    let finaliser = Finaliser(dropped);
    let function = listener(move |event, answer| {
        let _finaliser = &finaliser;
        keep.lock().unwrap().push((event, answer));
    });
    host.listen("db", "ask", function).unwrap();
    load(&host, "answers", &asking());
    let mut flights = Vec::new();
    for _ in 0..20 {
        let (progress, ending) = send(&host, request("GET", "/ask", Body::empty()));
        let Progress::Pending(in_flight) = progress else {
            panic!("nobody answered")
        };
        flights.push((in_flight, ending));
    }
    for (in_flight, ending) in flights {
        in_flight.cancel();
        assert!(matches!(ending.0.recv(), Ok(pointwork_embed::Ended::Cancelled)));
    }
    kept.lock().unwrap().clear();
    host.wait(async { Ok(()) }, Waiting::forever()).unwrap();
    host.wait(
        {
            let closing = host.close();
            async move {
                closing.await;
                Ok(())
            }
        },
        Waiting::forever(),
    )
    .unwrap();
    drop(host);
    receiver
        .recv_timeout(crate::world::PATIENCE)
        .expect("the function is dropped with its application");
}

#[test]
fn an_asynchronous_module_asks_functions_too() {
    let host = host();
    let function = listener(|_, answer| answer.send(Ok(Payload::json("at once").unwrap())).unwrap());
    host.listen("db", "ask", function).unwrap();
    let function = listener(|_, answer| later(|| answer.send(Ok(Payload::json("late").unwrap())).unwrap()));
    host.listen("db", "later", function).unwrap();
    let controller = Controller::new("Asking", "")
        .get(
            "/ask",
            Program::text("1").call("db:ask").step(Step::Call("db:ask".to_owned())),
        )
        .get("/later", Program::text("1").call("db:later"));
    load(&host, "answers", &Guest::with(controller).asynchronous());
    assert_eq!(text(get(&host, "/ask")), "\"at once\"");
    assert_eq!(text(get(&host, "/later")), "\"late\"");
}

#[test]
fn a_mount_in_front_leaves_the_other_requests_and_their_bodies_alone() {
    let host = host();
    load(&host, "answers", &asking());
    let mount = host.mount("test", Place::InFront, None).unwrap();
    let ours = mount.handle(request("GET", "/plain", Body::empty()), |_| {}).unwrap();
    assert!(!matches!(ours, Progress::NotOurs(_)));
    let theirs = mount
        .handle(request("POST", "/login", Body::from("name=Ada")), |_| {})
        .unwrap();
    let Progress::NotOurs(request) = theirs else {
        panic!("no route takes it")
    };
    assert_eq!(request.into_body().try_into_bytes().unwrap(), "name=Ada");
    let below = host.mount("test", Place::Below, Some("/api")).unwrap();
    let (head, ()) = crate::world::request("GET", "/other", Body::empty())
        .map(drop)
        .into_parts();
    assert!(below.accept(&head).is_none());
    let (head, ()) = crate::world::request("GET", "/api/none", Body::empty())
        .map(drop)
        .into_parts();
    assert!(below.accept(&head).is_some());
}

#[test]
fn a_mount_answers_what_it_took_also_if_a_swap_takes_the_route_away() {
    let host = host();
    load(&host, "answers", &asking());
    let mount = host.mount("test", Place::InFront, None).unwrap();
    let other = host.mount("other", Place::InFront, None).unwrap();
    let head = request("GET", "/plain", Body::empty()).map(drop);
    let accepted = mount.accept(&head.into_parts().0).expect("a route matches");
    host.wait(host.remove("answers"), Waiting::forever()).unwrap();
    let claimed = || {
        let mut request = request("GET", "/plain", Body::empty());
        request.extensions_mut().insert(accepted.clone());
        request
    };
    let reply = mount.handle_blocking(claimed(), Waiting::forever()).unwrap().unwrap();
    let Progress::Ready(reply) = reply else {
        panic!("the request was accepted")
    };
    assert_eq!(text(reply), "plain");
    let theirs = other.handle_blocking(claimed(), Waiting::forever()).unwrap().unwrap();
    assert!(
        matches!(theirs, Progress::NotOurs(_)),
        "another mount has not accepted it"
    );
}
