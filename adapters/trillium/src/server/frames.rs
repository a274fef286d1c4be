//! As much of HTTP/2's frames as trillium leaves undone (RFC 9113, section 4.1).

/// What a client of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADER: usize = 9;

const RST_STREAM: u8 = 3;

const GOAWAY: u8 = 7;

/// Follows the frames that pass in one direction.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    header: [u8; HEADER],
    have: usize,
    /// How much of the frame behind its header is still to come.
    left: usize,
    /// The streams that were reset.
    resets: Vec<u32>,
}

impl Frames {
    /// What the client sends, its preface included.
    pub(crate) fn from_client() -> Self {
        Self {
            left: PREFACE.len(),
            ..Self::default()
        }
    }

    pub(crate) fn pass(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.header[self.have] = byte;
            self.have += 1;
            bytes = &bytes[1..];
            if self.have == HEADER {
                let [high, middle, low, kind, _, stream @ ..] = self.header;
                self.left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                if kind == RST_STREAM {
                    self.resets.push(u32::from_be_bytes(stream) & 0x7fff_ffff);
                }
                self.have = 0;
            }
        }
    }

    /// Whether another frame may be put in here.
    pub(crate) fn at_boundary(&self) -> bool {
        self.left == 0 && self.have == 0
    }

    /// The streams that were reset since this was asked.
    pub(crate) fn take_resets(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.resets)
    }
}

/// The frame that resets a stream, for a fault of the server.
pub(crate) fn reset(stream: u32) -> [u8; HEADER + 4] {
    const INTERNAL_ERROR: u8 = 2;
    let [a, b, c, d] = stream.to_be_bytes();
    [0, 0, 4, RST_STREAM, 0, a, b, c, d, 0, 0, 0, INTERNAL_ERROR]
}

/// The frame that says that no further request is taken, and why.
pub(crate) fn goaway(reason: Reason) -> [u8; HEADER + 8] {
    // Of the streams that the client opened meanwhile, none is ruled out.
    [
        0,
        0,
        8,
        GOAWAY,
        0,
        0,
        0,
        0,
        0,
        0x7f,
        0xff,
        0xff,
        0xff,
        0,
        0,
        0,
        reason as u8,
    ]
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Reason {
    NoError = 0,
    EnhanceYourCalm = 11,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_followed_however_they_are_cut() {
        let data = [&[0, 1, 0, 0, 1, 0, 0, 0, 1][..], &[3; 256]].concat();
        let all = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0], &data, &reset(1), &reset(3)].concat();
        for piece in 1..all.len() {
            let mut frames = Frames::from_client();
            for bytes in all.chunks(piece) {
                frames.pass(bytes);
            }
            assert!(frames.at_boundary());
            assert_eq!(frames.take_resets(), [1, 3], "in pieces of {piece}");
            assert!(frames.take_resets().is_empty());
            frames.pass(&[0]);
            assert!(!frames.at_boundary());
        }
    }
}
