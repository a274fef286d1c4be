//! The beginning of a head whose end has not come.

use memchr::memmem;

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Keeps the pieces of a head until it is complete.
#[derive(Default)]
pub(crate) struct HeadBuffer {
    pub(crate) bytes: Vec<u8>,
    /// Whether the bytes may be given out.
    pub(crate) released: bool,
    /// The last bytes that were read: the end of a head may come in pieces.
    tail: [u8; END_OF_HEAD.len() - 1],
}

impl HeadBuffer {
    /// Whether the end of a head is in these bytes, or ends in them.
    pub(crate) fn completes(&mut self, bytes: &[u8]) -> bool {
        let seam = [&self.tail, &bytes[..bytes.len().min(self.tail.len())]].concat();
        self.remember(bytes);
        memmem::find(bytes, END_OF_HEAD).is_some() || memmem::find(&seam, END_OF_HEAD).is_some()
    }

    /// Notes bytes that were read and are not kept.
    pub(crate) fn remember(&mut self, bytes: &[u8]) {
        let kept = self.tail.len();
        let new = &bytes[bytes.len().saturating_sub(kept)..];
        self.tail.rotate_left(new.len());
        self.tail[kept - new.len()..].copy_from_slice(new);
    }

    /// Fills the buffer of the caller, or writes all bytes that are left.
    pub(crate) fn give(&mut self, buf: &mut [u8]) -> usize {
        let length = self.bytes.len().min(buf.len());
        buf[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes.drain(..length);
        self.released = !self.bytes.is_empty();
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_seen_in_any_pieces() {
        let head = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        for size in 1..=head.len() {
            let mut buffer = HeadBuffer::default();
            let seen: Vec<bool> = head.chunks(size).map(|piece| buffer.completes(piece)).collect();
            let (last, before) = seen.split_last().unwrap();
            assert!(*last && !before.contains(&true), "{size}: {seen:?}");
        }
        let mut buffer = HeadBuffer::default();
        assert!(buffer.completes(b"GET / HTTP/1.1\r\n\r\nbody"));
        // A part of it may have been read while a handler ran.
        buffer.remember(b"GET / HTTP/1.1\r\nhost: a\r\n\r");
        assert!(!buffer.completes(b""));
        assert!(buffer.completes(b"\n"));
    }

    #[test]
    fn bytes_are_given_in_order_as_far_as_there_is_room() {
        let mut buffer = HeadBuffer::default();
        buffer.bytes.extend_from_slice(b"abcde");
        buffer.released = true;
        let mut buf = [0; 3];
        assert_eq!((buffer.give(&mut buf), &buf, buffer.released), (3, b"abc", true));
        assert_eq!(
            (buffer.give(&mut buf), &buf[..2], buffer.released),
            (2, &b"de"[..], false)
        );
    }
}
