//! hyper behind the follower of framing: whatever bytes come, no request with two framings reaches a service, since the
//! follower and hyper agree where each head begins.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork_core::adapter::Framing;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt as _;

/// The parts of which the bytes consist; `#` is replaced by a number that is different in each place.
const PARTS: [&str; 16] = [
    "POST /# HTTP/1.1\r\n",
    "POST /# HTTP/1.1\r\ncontent-length: 40\r\n\r\n",
    "POST /# HTTP/1.1\ntransfer-encoding: chunked\n\n",
    "POST /# HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    "POST /# HTTP/1.1\r\ntransfer-encoding: chunked\ncontent-length: 40\n\n",
    "content-length: 3\r\n",
    "transfer-encoding: gzip, chunked\r\n",
    "x: y\r\n",
    "x: y\n",
    "\r\n",
    "\n",
    "\r",
    "3;x\r\nabc\r\n",
    "3\nabc\n",
    "0\r\n",
    "0\n",
];

/// The requests of which a service knows after these bytes.
async fn served(bytes: Vec<u8>) -> Vec<String> {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = paths.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        seen.lock().unwrap().push(request.uri().path().to_owned());
        async move {
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let (mut client, server) = tokio::io::duplex(1 << 20);
    client.write_all(&bytes).await.unwrap();
    client.shutdown().await.unwrap();
    let _ = Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(server), service)
        .await;
    let paths = paths.lock().unwrap();
    paths.clone()
}

/// Whether the head of the request for that path says in two ways where its body ends.
fn has_two_framings(text: &str, path: &str) -> bool {
    let (_, behind) = text.split_once(&format!(" {path} ")).expect("the request line");
    let lines = behind.split('\n').skip(1).map(|line| line.trim_end_matches('\r'));
    let lines = lines.take_while(|line| !line.is_empty());
    let names: Vec<_> = lines
        .map(|line| line.split(':').next().unwrap_or_default().to_ascii_lowercase())
        .collect();
    let count = |name| names.iter().filter(|one| *one == name).count();
    let lengths = count("content-length");
    lengths > 1 || lengths == 1 && count("transfer-encoding") > 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_request_with_two_framings_is_served(
        parts in prop::collection::vec(0..PARTS.len(), 1..24),
        piece in 1..200_usize,
    ) {
        let numbered = parts.iter().enumerate().map(|(place, part)| PARTS[*part].replace('#', &place.to_string()));
        let text: String = numbered.collect();
        let (mut framing, mut bytes) = (Framing::new(64 * 1024), text.clone().into_bytes());
        bytes.chunks_mut(piece).for_each(|piece| framing.follow(piece));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in runtime.block_on(served(bytes)) {
            prop_assert!(!has_two_framings(&text, &path), "{path} of {text:?}");
        }
    }
}
