use proptest::prelude::*;

use super::*;

/// Feeds the bytes in pieces of at most `piece` bytes; returns what comes out.
fn fed(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (mut framing, mut bytes) = (Framing::default(), bytes.to_vec());
    bytes.chunks_mut(piece).for_each(|piece| framing.follow(piece));
    bytes
}

/// Whether the bytes come out with a NUL that was not there, however they are cut.
fn is_spoiled(bytes: &[u8]) -> bool {
    let spoiled = fed(bytes, bytes.len()) != bytes;
    for piece in 1..bytes.len() {
        assert_eq!(fed(bytes, piece) != bytes, spoiled, "in pieces of {piece}");
    }
    spoiled
}

#[test]
fn a_head_with_two_framings_is_spoiled_by_one_nul_in_place_of_a_line_end() {
    let good = [
        "",
        "\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n\r\n\r\n\r",
        "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n3\r\n\r\n0\r\nA;q\r\n0123456789\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\ntrailer: a\r\n\r\n",
    ];
    for (bad, line) in [
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r",
        ),
        (
            "transfer-encoding: chunked\r\nx: y\r\ncontent-length: 5\r\n",
            "content-length: 5\r",
        ),
        (
            "CONTENT-LENGTH:5\nTRANSFER-ENCODING:chunked\n",
            "TRANSFER-ENCODING:chunked",
        ),
        (
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r",
        ),
        ("content-length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r"),
        ("content-length: 5\r\nContent-Length: 6\r\n", "Content-Length: 6\r"),
        ("content-length: 5\r\nContent-Length: x\r\n", "Content-Length: x\r"),
        ("content-length: 5\r\nContent-Length:\r\n", "Content-Length:\r"),
    ] {
        for good in good {
            let head = format!("{good}POST / HTTP/1.1\r\n{bad}\r\n");
            assert!(is_spoiled(head.as_bytes()), "{head:?}");
            let spoiled = fed(head.as_bytes(), head.len());
            assert!(spoiled.ends_with(format!("{line}\0\r\n").as_bytes()), "{head:?}");
            assert_eq!(spoiled.iter().filter(|byte| **byte == 0).count(), 1, "{head:?}");
        }
    }
}

#[test]
fn other_names_and_other_heads_are_left_alone() {
    for bytes in [
        "GET / HTTP/1.1\r\ncontent-length-x: 5\r\nx-content-length: 5\r\ncontent-length: 0\r\nt: 1\r\nc: 2\r\n\r\n",
        // One each, in two requests.
        "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nabPOST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        // A body may look like headers.
        "POST / HTTP/1.1\r\ncontent-length: 42\r\n\r\ncontent-length: 5\r\ntransfer-encoding: x\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n15;x=y\r\n\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
        // So may trailers.
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 5\r\n\r\n",
    ] {
        assert!(!is_spoiled(bytes.as_bytes()), "{bytes:?}");
    }
}

#[test]
fn bytes_that_are_not_http_are_left_to_hyper() {
    for bytes in [
        "\0\x01\x02\n\n\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nno size\r\ncontent-length: 1\r\ncontent-length: 1\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    ] {
        assert!(!is_spoiled(bytes.as_bytes()), "{bytes:?}");
    }
}

#[test]
fn a_line_without_end_takes_bounded_memory() {
    let mut framing = Framing::default();
    let mut bytes = vec![b'x'; 4096];
    for _ in 0..100 {
        framing.follow(&mut bytes);
    }
    assert!(framing.partial_line.len() <= LONGEST_LINE + bytes.len());
}

proptest! {
    /// Any sequence of well-formed requests passes, in any pieces, and leads to the start of a head.
    #[test]
    fn well_formed_requests_pass(
        bodies in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 1..6),
        piece in 1..100_usize,
    ) {
        let mut bytes = Vec::new();
        for (chunked, body) in bodies {
            bytes.extend_from_slice(b"POST /a HTTP/1.1\r\nhost: a\r\n");
            if chunked {
                bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
                for chunk in body.chunks(7) {
                    bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(chunk);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            } else {
                bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&body);
            }
        }
        let (mut framing, mut out) = (Framing::default(), bytes.clone());
        out.chunks_mut(piece).for_each(|piece| framing.follow(piece));
        prop_assert_eq!(out, bytes);
        prop_assert_eq!(framing.position, Position::default());
    }
}
