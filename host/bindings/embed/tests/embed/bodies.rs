//! Bodies, chunk by chunk, in both directions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use pointwork_embed::http::Response;
use pointwork_embed::{Body, Chunk, Function, OffFiber, Progress, RouteOptions, Source};

use crate::stack;
use crate::world::{Finaliser, asking, get, handler, host, later, load, read, request, send};

/// A source of so many chunks, at once or later.
fn source(chunks: usize, is_late: bool, dropped: mpsc::Sender<()>) -> Source {
    let given = Arc::new(AtomicUsize::new(0));
    let finaliser = OffFiber::new(Finaliser(dropped));
    Function::new(move |(), answer| {
        stack::check("a source");
        let _finaliser = &finaliser;
        let number = given.fetch_add(1, Ordering::Relaxed);
        let chunk = match number {
            _ if number < chunks => Chunk::Data(format!("chunk {number};").into()),
            _ => Chunk::End,
        };
        let send = move || {
            let _ = answer.send(chunk);
        };
        if is_late { later(send) } else { send() }
    })
}

#[test]
fn a_guest_reads_a_source_and_its_reply_is_read_in_chunks() {
    let host = host();
    load(&host, "bodies", &asking());
    for is_late in [false, true] {
        let (dropped, receiver) = mpsc::channel();
        let body = host.body(source(5, is_late, dropped), None);
        let reply = match send(&host, request("POST", "/echo", body)) {
            (Progress::Ready(reply), _) => reply,
            (_, ending) => ending.reply(),
        };
        let echoed = read(&host, reply.into_body()).unwrap();
        assert_eq!(
            String::from_utf8(echoed).unwrap(),
            "chunk 0;chunk 1;chunk 2;chunk 3;chunk 4;"
        );
        receiver
            .recv_timeout(crate::world::PATIENCE)
            .expect("the source is dropped");
    }
}

#[test]
fn a_source_that_fails_or_gives_no_answer_breaks_the_reply_off() {
    let host = host();
    let replies = |source: fn() -> Source| {
        let within = host.clone();
        handler(move |_, answer| {
            let body = within.body(source(), None);
            answer.send(Ok(Some(Response::new(body)))).unwrap();
        })
    };
    let fails = || {
        Function::new(|(), answer: pointwork_embed::Answer<Chunk>| {
            let _ = answer.send(Chunk::Failed("the disk is gone".to_owned()));
        })
    };
    host.route(Some("GET"), "/fails", RouteOptions::default(), replies(fails))
        .unwrap();
    let drops = || Function::new(|(), _| {});
    host.route(Some("GET"), "/drops", RouteOptions::default(), replies(drops))
        .unwrap();
    let failed = read(&host, get(&host, "/fails").into_body()).unwrap_err();
    assert!(failed.contains("the disk is gone"), "{failed}");
    let dropped = read(&host, get(&host, "/drops").into_body()).unwrap_err();
    assert!(dropped.contains("gave no answer"), "{dropped}");
}

#[test]
fn a_reader_that_goes_away_drops_the_source() {
    let host = host();
    let (dropped, receiver) = mpsc::channel();
    let body = host.body(source(1_000_000, false, dropped), None);
    let mut chunks = host.chunks(body);
    assert_eq!(chunks.next(|| {}), Some(Chunk::Data("chunk 0;".into())));
    drop(chunks);
    receiver
        .recv_timeout(crate::world::PATIENCE)
        .expect("the source is dropped");
}

#[test]
fn a_source_of_a_known_length_ends_there_or_breaks_off() {
    let host = host();
    let (sender, _receiver) = mpsc::channel();
    assert_eq!(
        read(&host, host.body(source(9, false, sender.clone()), Some(10))).unwrap(),
        b"chunk 0;ch"
    );
    let short = read(&host, host.body(source(1, false, sender), Some(10)));
    assert!(short.is_err(), "{short:?}");
    assert_eq!(read(&host, Body::empty()).unwrap(), b"");
}
