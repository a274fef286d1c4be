use proptest::prelude::*;

use super::*;

const LIMIT: u32 = 64 * 1024;

/// Feeds the bytes in pieces of at most `piece` bytes; returns what comes out.
fn fed(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (mut framing, mut bytes) = (Framing::new(LIMIT), bytes.to_vec());
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
fn a_head_with_two_framings_is_spoiled_by_one_nul() {
    let good = [
        "",
        "\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n\r\n\r\n\r",
        "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n3\r\n\r\n0\r\nA;q\r\n0123456789\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\ntrailer: a\r\n\r\n",
    ];
    for (bad, spoiled) in [
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunke\0\r\n",
        ),
        (
            "transfer-encoding: chunked\r\nx: y\r\ncontent-length: 5\r\n",
            "transfer-encoding: chunked\r\nx: y\r\ncontent-length: \0\r\n",
        ),
        (
            "CONTENT-LENGTH:5\nTRANSFER-ENCODING:chunked\n",
            "CONTENT-LENGTH:5\nTRANSFER-ENCODING:chunke\0\n",
        ),
        (
            "content-length: 5\r\nContent-Length: 5\r\n",
            "content-length: 5\r\nContent-Length: \0\r\n",
        ),
        (
            "content-length: 5\r\nContent-Length: x6\r\n",
            "content-length: 5\r\nContent-Length: x\0\r\n",
        ),
        (
            "content-length: 0\r\nContent-Length:\r\n",
            "content-length: 0\r\nContent-Length\0\r\n",
        ),
    ] {
        for good in good {
            let head = |lines| format!("{good}POST / HTTP/1.1\r\n{lines}\r\n").into_bytes();
            assert!(is_spoiled(&head(bad)), "{good:?} {bad:?}");
            assert_eq!(fed(&head(bad), usize::MAX), head(spoiled), "{good:?} {bad:?}");
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
fn bytes_that_are_not_http_are_left_to_the_parser() {
    for bytes in [
        "\0\x01\x02\n\n\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nno size\r\ncontent-length: 1\r\ncontent-length: 1\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    ] {
        assert!(!is_spoiled(bytes.as_bytes()), "{bytes:?}");
    }
}

/// No parser finds an end of the body, nor anything that it could take for another request.
#[test]
fn nothing_behind_a_broken_line_of_a_chunked_body_arrives() {
    for body in [
        "0\r\n\n",
        "0\r\nx: y\n",
        "0\r\nx: y\r\n\n",
        "0\r\nx: y\n\r\n",
        "3;x\nabc\r\n",
        "3\nabc\r\n",
        "0\n",
        "3\r\nabc\n",
        "3\r\nabcd\r\n",
        "3\r\nabXX0\r\n\r\n",
        "fffffffffffffffe\r\n",
        "FFFFFFFFFFFFFFFF;x\r\n",
    ] {
        let request = format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{body}");
        let whole = [request.as_bytes(), b"\r\nGET / HTTP/1.1\r\n\r\n"].concat();
        for piece in 1..=whole.len() {
            let mut framing = Framing::new(LIMIT);
            let mut out = whole.clone();
            out.chunks_mut(piece).for_each(|piece| framing.follow(piece));
            assert!(framing.is_broken(), "{body:?}");
            let cr = out.iter().rposition(|byte| *byte != 0).unwrap();
            assert!(
                cr < request.len() && out[..cr] == whole[..cr],
                "{body:?}: {}",
                out.escape_ascii()
            );
            assert_eq!((out[cr], whole[cr]), (b'\r', b'\n'), "{body:?}");
        }
    }
}

#[test]
fn a_strict_one_takes_no_half_line_ends_in_a_head() {
    for head in [
        "GET / HTTP/1.1\nhost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n\n",
        "GET / HTTP/1.1\r\nhost: a\r\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\x0c\r\n\r\n",
        "\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        let mut out = head.as_bytes().to_vec();
        Framing::new(LIMIT).strict().follow(&mut out);
        assert_eq!(out.iter().filter(|byte| **byte == 0).count(), 1, "{head:?}");
        assert!(!is_spoiled(head.as_bytes()), "{head:?}");
    }
}

/// The limit for heads may be raised beyond any buffer.
#[test]
fn a_head_behind_a_long_line_is_followed_too() {
    let long = "y".repeat(200_000);
    let head = format!("POST / HTTP/1.1\r\nx: {long}\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n");
    for (limit, is_spoiled) in [(256 * 1024, true), (64 * 1024, false)] {
        let (mut framing, mut out) = (Framing::new(limit), head.clone().into_bytes());
        out.chunks_mut(8192).for_each(|piece| framing.follow(piece));
        assert_eq!(out != head.as_bytes(), is_spoiled, "{limit}");
    }
}

#[test]
fn a_trailer_without_end_breaks_the_body() {
    let mut framing = Framing::new(LIMIT);
    framing.follow(&mut b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ".to_vec());
    for _ in 0..20 {
        framing.follow(&mut [b'y'; 4096]);
    }
    let mut end = *b"\n\r\nGET";
    framing.follow(&mut end);
    assert_eq!((framing.is_broken(), end), (true, [0; 6]));
}

#[test]
fn a_line_without_end_takes_bounded_memory() {
    let mut framing = Framing::new(LIMIT);
    let mut bytes = vec![b'x'; 4096];
    for _ in 0..100 {
        framing.follow(&mut bytes);
    }
    assert!(framing.partial_line.len() <= LIMIT as usize + bytes.len());
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
        let (mut framing, mut out) = (Framing::new(LIMIT), bytes.clone());
        out.chunks_mut(piece).for_each(|piece| framing.follow(piece));
        prop_assert_eq!(out, bytes);
        prop_assert_eq!(framing.position, Position::default());
    }
}

#[test]
fn bytes_behind_the_end_of_a_message_are_noted() {
    let posted = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab";
    let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    for message in ["GET / HTTP/1.1\r\n\r\n", posted, chunked] {
        for at_a_time in [1, 7, 1000] {
            let mut framing = Framing::new(1000);
            let mut follow = |bytes: &str| {
                for part in bytes.as_bytes().chunks(at_a_time) {
                    framing.follow(&mut part.to_vec());
                }
                framing.passed()
            };
            assert_eq!(follow(message), 0, "{message}");
            assert_eq!(follow("\r\n"), 1, "{message}");
            assert_eq!(follow(message), 1, "{message}");
            assert_eq!(follow("G"), 2, "{message}");
        }
    }
}
