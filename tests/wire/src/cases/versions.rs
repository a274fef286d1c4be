//! Which versions of HTTP a port speaks.

use http::StatusCode;
use pointwork_core::{Body, Protocols, ServerOptions};

use crate::http2::{BEGIN, Http2Client};
use crate::{Http2, Server, Subject, routes};

crate::cases! {
    for S;
    a_port_speaks_what_the_options_ask_for,
}

async fn a_port_speaks_what_the_options_ask_for<S: Subject>() {
    let http2 = S::DIFFERENCES.http2;
    for (protocols, one, two) in [
        (Protocols::Both, true, http2 == Http2::Beside),
        (Protocols::Http1, true, false),
        (Protocols::Http2, http2 == Http2::Never, http2 != Http2::Never),
    ] {
        let mut options = ServerOptions::default();
        options.protocols = protocols;
        let server = Server::with::<S>(options, routes()).await;
        let mut client = server.client().await;
        client
            .send("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .await;
        let reply = client.rest().await.unwrap_or_default();
        assert_eq!(reply.starts_with("HTTP/1.1 200 "), one, "{protocols:?}: {reply:?}");
        if two {
            let mut client = Http2Client::connect(&server).await;
            let reply = client.text("GET", "/hello", Body::empty()).await;
            assert_eq!(reply, (StatusCode::OK, "hello".to_owned()), "{protocols:?}");
        } else {
            let mut client = server.client().await;
            client.send(&BEGIN[..24]).await;
            let refusal = client.rest().await.unwrap();
            let answer = S::DIFFERENCES.answer_to_the_preface;
            assert!(refusal.starts_with(answer), "{protocols:?}: {refusal:?}");
            assert_eq!(refusal.is_empty(), answer.is_empty(), "{protocols:?}: {refusal:?}");
        }
    }
}
