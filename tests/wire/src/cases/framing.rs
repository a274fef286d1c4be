//! The end of a request's body, and the handling of a body without a certain end.

use crate::{On, Probe, Server};

crate::cases! {
    a_body_framed_in_two_ways_is_refused_and_ends_the_connection: A1,
    a_transfer_coding_beside_chunked_gets_501: A1,
    a_post_without_a_length_has_an_empty_body: A1,
    extensions_and_trailers_of_chunks_are_passed_over: A1,
    a_chunk_size_may_be_padded: A1,
    a_connection_goes_on_after_a_chunked_body: A1,
    a_body_may_come_byte_by_byte: A1,
    garbled_chunks_fail_the_handlers_read_and_end_the_connection: A1,
    a_chunk_that_is_longer_than_its_size_fails_the_handlers_read: A1,
    a_handler_is_told_that_a_body_is_garbled: A1,
    a_lone_line_feed_is_no_end_of_a_body: A1,
    garbled_chunks_that_nobody_reads_end_the_connection: A1,
}

async fn a_body_framed_in_two_ways_is_refused_and_ends_the_connection(on: On) {
    let server = Server::plain(on).await;
    for framing in [
        "content-length: 3\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 3",
        "content-length: 3\r\ncontent-length: 3",
        "content-length: 3\r\ncontent-length: 4",
        "content-length: 3, 3",
    ] {
        let request = format!(
            "POST /body HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let reply = server.exchange(request).await;
        assert!(reply.starts_with("HTTP/1.1 400 "), "{framing}: {reply}");
        assert!(reply.contains("\r\nconnection: close\r\n"), "{framing}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{framing}: {reply}");
        assert!(
            reply.ends_with("\r\n\r\n"),
            "it has no body on any adapter: {framing}: {reply}"
        );
    }
}

async fn a_transfer_coding_beside_chunked_gets_501(on: On) {
    let server = Server::plain(on).await;
    for codings in ["gzip, chunked", "chunked\r\ntransfer-encoding: chunked"] {
        let reply = server
            .exchange(format!(
                "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {codings}\r\n\r\n0\r\n\r\n"
            ))
            .await;
        assert!(
            reply.starts_with("HTTP/1.1 501 Not Implemented\r\n"),
            "{codings}: {reply}"
        );
        assert!(reply.contains("\r\nconnection: close\r\n"), "{codings}: {reply}");
    }
}

async fn a_post_without_a_length_has_an_empty_body(on: On) {
    let server = Server::plain(on).await;
    for head in [
        "POST /body HTTP/1.0\r\n\r\n",
        "POST /body HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    ] {
        let reply = server.raw(head).await;
        assert!(reply.ends_with("\r\n\r\n0 bytes"), "{head}: {reply}");
    }
}

async fn chunked(client: &mut Probe, chunks: &str) {
    client
        .send(format!(
            "POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
        ))
        .await;
}

async fn extensions_and_trailers_of_chunks_are_passed_over(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    chunked(&mut client, "3;a=\"b\"\r\nabc\r\n00;x\r\nx-trailer: y\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "3 bytes");
}

async fn a_chunk_size_may_be_padded(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    chunked(&mut client, "3 ; x\r\nabc\r\n0\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "3 bytes");
}

async fn a_connection_goes_on_after_a_chunked_body(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    chunked(&mut client, "3\r\nabc\r\n0\r\n\r\n").await;
    let reply = client.reply().await;
    assert_eq!(reply.body, "3 bytes");
    assert!(reply.all("connection").is_empty(), "the connection closes: {reply:?}");
    assert_eq!(client.get("/echo/1").await.body, "1");
}

async fn a_body_may_come_byte_by_byte(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    let bytes = b"POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    // The case cannot wait until the server rests: actix-http polls without a pause while a body is incomplete.
    client.send_in_parts(bytes.chunks(1)).await.unwrap();
    assert_eq!(client.reply().await.body, "2 bytes");
}

async fn garbled_chunks_fail_the_handlers_read_and_end_the_connection(on: On) {
    let server = Server::plain(on).await;
    for chunks in ["zz\r\n", "\r\n", "11111111111111111\r\n"] {
        let mut client = server.client().await;
        chunked(&mut client, chunks).await;
        let reply = client.reply().await;
        assert_eq!(reply.status(), 400, "{chunks:?}");
        assert!(
            reply.body.starts_with("{\"message\":\"the body "),
            "{chunks:?}: {}",
            reply.body
        );
        assert_eq!(client.rest().await.unwrap(), "", "{chunks:?}");
    }
}

/// The client shuts its side down, so that a reader that waits for the end of the line gets an end of file.
async fn a_chunk_that_is_longer_than_its_size_fails_the_handlers_read(on: On) {
    let server = Server::plain(on).await;
    for chunks in ["3\r\nabcd\r\n", "3\nabc"] {
        let mut client = server.client().await;
        chunked(&mut client, chunks).await;
        client.finish().await;
        let reply = client.rest().await.unwrap_or_default();
        assert!(
            reply.is_empty() || reply.starts_with("HTTP/1.1 400 "),
            "{chunks:?}: {reply:?}"
        );
    }
}

async fn a_handler_is_told_that_a_body_is_garbled(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    chunked(&mut client, "zz\r\n").await;
    assert_eq!(
        client.reply().await.body,
        "{\"message\":\"the body could not be read\"}"
    );
}

async fn a_lone_line_feed_is_no_end_of_a_body(on: On) {
    let server = Server::plain(on).await;
    let mut client = server.client().await;
    chunked(&mut client, "3\r\nabc\r\n0\r\n\n").await;
    // One reader takes the line feed for the start of a trailer and waits for its end, another refuses it; neither
    // accepts the body.
    client.finish().await;
    let reply = client.rest().await.unwrap_or_default();
    assert!(!reply.contains("3 bytes"), "{reply}");
}

async fn garbled_chunks_that_nobody_reads_end_the_connection(on: On) {
    let server = Server::plain(on).await;
    for body in ["zz\r\n", "\r\n", "1\r\nxy\r\n"] {
        let request = format!(
            "POST /unread HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{body}GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let reply = server.raw(request).await;
        assert!(reply.ends_with("not read"), "{body:?}: {reply}");
    }
}
