//! The chunks of a request's body (RFC 9112, section 7.1).

use bytes::{Buf, Bytes, BytesMut};

use super::framing::{Malformed, Step};

/// The most that the line with a chunk's size may take, extensions included.
const MAX_SIZE_LINE: usize = 4 * 1024;

/// The most that all trailers may take.
const MAX_TRAILERS: usize = 16 * 1024;

/// How far the reading of a chunked body has come.
#[derive(Debug)]
pub(crate) enum Chunks {
    /// The line with the next size comes.
    Size,
    /// So many bytes of the chunk are still to come.
    Data(u64),
    /// The end of line after a chunk comes.
    DataEnd,
    /// The lines after the last chunk come; the bytes that they took so far.
    Trailers(usize),
}

impl Chunks {
    /// Takes what it can from the front of the buffer. Trailers are read and forgotten.
    pub(crate) fn next(&mut self, buffer: &mut BytesMut) -> Result<Step, Malformed> {
        loop {
            match self {
                // httparse takes a line without a digit for a size of 0.
                Self::Size if buffer.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                    return Err(Malformed("the size of a chunk"));
                }
                Self::Size => match httparse::parse_chunk_size(buffer) {
                    Ok(httparse::Status::Complete((used, size))) => {
                        buffer.advance(used);
                        *self = if size == 0 { Self::Trailers(0) } else { Self::Data(size) };
                    }
                    Ok(httparse::Status::Partial) if buffer.len() < MAX_SIZE_LINE => return Ok(Step::More),
                    _ => return Err(Malformed("the size of a chunk")),
                },
                Self::Data(_) if buffer.is_empty() => return Ok(Step::More),
                Self::Data(left) => {
                    let piece = take(buffer, *left);
                    *left -= piece.len() as u64;
                    if *left == 0 {
                        *self = Self::DataEnd;
                    }
                    return Ok(Step::Data(piece));
                }
                Self::DataEnd => {
                    if !b"\r\n".starts_with(&buffer[..buffer.len().min(2)]) {
                        return Err(Malformed("the end of a chunk"));
                    }
                    if buffer.len() < 2 {
                        return Ok(Step::More);
                    }
                    buffer.advance(2);
                    *self = Self::Size;
                }
                Self::Trailers(taken) => {
                    let Some(end) = memchr::memchr(b'\n', buffer) else {
                        let so_far = *taken + buffer.len();
                        return if so_far < MAX_TRAILERS {
                            Ok(Step::More)
                        } else {
                            Err(Malformed("the trailers"))
                        };
                    };
                    let line = buffer.split_to(end + 1);
                    *taken += line.len();
                    if !line.ends_with(b"\r\n") || *taken > MAX_TRAILERS {
                        return Err(Malformed("the trailers"));
                    }
                    if line.len() == 2 {
                        return Ok(Step::End);
                    }
                }
            }
        }
    }
}

/// The front of the buffer, at most so many bytes.
pub(crate) fn take(buffer: &mut BytesMut, most: u64) -> Bytes {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    buffer.split_to(buffer.len().min(most)).freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a whole body that comes in pieces of this size, and what is left behind it.
    fn read(text: &[u8], piece: usize) -> Result<(Vec<u8>, Vec<u8>), Malformed> {
        let (mut chunks, mut buffer, mut body) = (Chunks::Size, BytesMut::new(), Vec::new());
        let mut coming = text.chunks(piece);
        loop {
            match chunks.next(&mut buffer)? {
                Step::Data(data) => body.extend_from_slice(&data),
                Step::End => {
                    let behind = coming.flatten();
                    return Ok((body, buffer.iter().chain(behind).copied().collect()));
                }
                Step::More => match coming.next() {
                    Some(more) => buffer.extend_from_slice(more),
                    None => return Err(Malformed("no end")),
                },
            }
        }
    }

    #[test]
    fn a_body_is_read_however_it_is_cut() {
        let text = b"3\r\nabc\r\n00b;x=\"y\"\r\n0123456789a\r\n0\r\nx-trailer: y\r\n\r\nGET /";
        for piece in 1..text.len() {
            let (body, behind) = read(text, piece).unwrap();
            assert_eq!(body, b"abc0123456789a", "in pieces of {piece}");
            assert_eq!(behind, b"GET /", "in pieces of {piece}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for text in [
            &b"zz\r\n"[..],
            b"\r\n",
            b";x\r\n",
            b" 1\r\na\r\n0\r\n\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n0\r\n\r\n",
            b"0x1\r\na\r\n0\r\n\r\n",
            b"1\na\r\n0\r\n\r\n",
            b"1\r\nab\r\n0\r\n\r\n",
            b"1\r\na0\r\n\r\n",
            b"1\r\na\n0\r\n\r\n",
            b"ffffffffffffffff0\r\n",
            b"0\r\nx: y\n\r\n",
        ] {
            let shown = String::from_utf8_lossy(text);
            let result = read(text, text.len()).map(|_| ()).map_err(|error| error.0);
            assert!(result.is_err_and(|what| what != "no end"), "{shown:?}: {result:?}");
        }
    }

    #[test]
    fn lines_without_end_are_refused() {
        let size = [b"1;".to_vec(), vec![b'x'; MAX_SIZE_LINE]].concat();
        assert_ne!(read(&size, size.len()).unwrap_err().0, "no end");
        let trailers = [b"0\r\n".to_vec(), b"x: y\r\n".repeat(MAX_TRAILERS / 6 + 1)].concat();
        assert_ne!(read(&trailers, trailers.len()).unwrap_err().0, "no end");
    }
}
