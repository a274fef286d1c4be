//! Where the body of a request ends.

/// How the body of a request is framed, and how far it has come.
///
/// actix-http reads the body itself. This only looks along, so that nothing beyond the body is handed to it, and so that
/// broken framing is an error of the body: actix-http would close the connection without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Empty,
    /// So many bytes are left.
    Length(u64),
    Chunked(Chunks),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    state: State,
    /// How many bytes of extensions and trailers there were.
    beside: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The size of a chunk comes; so far it is this, in so many digits.
    Size(u64, u8),
    /// White space after a size.
    SizeSpace(u64),
    /// An extension after a size.
    Extension(u64),
    SizeLf(u64),
    /// So many bytes of a chunk are left.
    Data(u64),
    DataCr,
    DataLf,
    /// At the start of a line of the trailers.
    Trailer,
    TrailerRest,
    TrailerLf,
    EndLf,
    End,
}

/// How many bytes of extensions and trailers a body may have; nobody reads them.
const MOST_BESIDE: usize = 16 * 1024;

/// As many hexadecimal digits as 64 bits have.
const MOST_DIGITS: u8 = 16;

/// The bytes are no chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

impl Framing {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunks {
            state: State::Size(0, 0),
            beside: 0,
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Empty | Self::Length(0) => true,
            Self::Length(_) => false,
            Self::Chunked(chunks) => chunks.state == State::End,
        }
    }

    /// How many of these bytes belong to the body. Fewer than all only if the body ends among them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, Garbled> {
        match self {
            Self::Empty => Ok(0),
            Self::Length(left) => Ok(take(left, bytes.len())),
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

fn take(left: &mut u64, available: usize) -> usize {
    let taken = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= taken as u64;
    taken
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, Garbled> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::End {
            if let State::Data(left) = &mut self.state {
                at += take(left, bytes.len() - at);
                if *left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            self.state = self.after(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn after(&mut self, byte: u8) -> Result<State, Garbled> {
        Ok(match (self.state, byte) {
            (State::Size(size, digits @ ..MOST_DIGITS), byte) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).ok_or(Garbled)?;
                State::Size(size << 4 | u64::from(digit), digits + 1)
            }
            (State::Size(size, 1..) | State::SizeSpace(size), b' ' | b'\t') => {
                self.beside()?;
                State::SizeSpace(size)
            }
            (State::Size(size, 1..) | State::SizeSpace(size), b';') => {
                self.beside()?;
                State::Extension(size)
            }
            (State::Size(size, 1..) | State::SizeSpace(size) | State::Extension(size), b'\r') => State::SizeLf(size),
            (State::Extension(size), b'\t' | b' '..=b'~' | 0x80..) => {
                self.beside()?;
                State::Extension(size)
            }
            (State::SizeLf(0), b'\n') => State::Trailer,
            (State::SizeLf(size), b'\n') => State::Data(size),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size(0, 0),
            (State::Trailer, b'\r') => State::EndLf,
            (State::TrailerRest, b'\r') => State::TrailerLf,
            (State::Trailer | State::TrailerRest, b'\t' | b' '..=b'~' | 0x80..) => {
                self.beside()?;
                State::TrailerRest
            }
            (State::TrailerLf, b'\n') => State::Trailer,
            (State::EndLf, b'\n') => State::End,
            _ => return Err(Garbled),
        })
    }

    fn beside(&mut self) -> Result<(), Garbled> {
        self.beside += 1;
        if self.beside > MOST_BESIDE {
            Err(Garbled)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
