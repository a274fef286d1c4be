use super::*;

const CHUNKED: &[u8] = b"3;x=\"y\"\r\nabc\r\nA \t; b\r\n0123456789\r\n0\r\ntrailer: x\r\n\r\n";

/// How much of the bytes the body takes, given in pieces.
fn taken(mut framing: Framing, bytes: &[u8], piece: usize) -> Result<(usize, bool), Garbled> {
    let mut all = 0;
    for piece in bytes.chunks(piece) {
        let taken = framing.take(piece)?;
        all += taken;
        if taken < piece.len() {
            break;
        }
    }
    Ok((all, framing.is_over()))
}

#[test]
fn a_body_ends_where_it_ends_in_pieces_of_any_size() {
    let followed = [CHUNKED, b"GET / HTTP/1.1\r\n"].concat();
    for piece in 1..followed.len() {
        assert_eq!(
            taken(Framing::chunked(), &followed, piece),
            Ok((CHUNKED.len(), true)),
            "{piece}"
        );
        assert_eq!(taken(Framing::Length(7), &followed, piece), Ok((7, true)), "{piece}");
        assert_eq!(taken(Framing::Empty, &followed, piece), Ok((0, true)), "{piece}");
    }
}

#[test]
fn a_body_that_is_not_whole_is_not_over() {
    for length in 0..CHUNKED.len() {
        assert_eq!(
            taken(Framing::chunked(), &CHUNKED[..length], 5),
            Ok((length, false)),
            "{length}"
        );
    }
}

#[test]
fn what_is_no_chunk_is_garbled() {
    for bytes in [
        &b"x"[..],
        b"\r\n",
        b" 1\r\n",
        b"1\n",
        b"1 1\r\n",
        b"1\rx",
        b"1;\n",
        b"1;\0",
        b"1\r\nabc",
        b"1\r\na\n",
        b"0\r\n\n",
        b"0\r\nx\n",
        b"0\r\n\rx",
        b"00000000000000001\r\n",
        b"-1\r\n",
        b"0x1\r\n",
    ] {
        assert_eq!(taken(Framing::chunked(), bytes, 100), Err(Garbled), "{bytes:?}");
    }
    assert_eq!(
        taken(Framing::chunked(), b"ffffffffffffffff\r\nx", 100),
        Ok((19, false))
    );
}

#[test]
fn what_stands_beside_the_chunks_has_a_limit() {
    let mut endless = b"1;".to_vec();
    endless.resize(MOST_BESIDE + 10, b'x');
    assert_eq!(taken(Framing::chunked(), &endless, 1000), Err(Garbled));
}
