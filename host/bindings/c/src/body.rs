//! Bodies, chunk by chunk.

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;

use pointwork_embed::bytes::Bytes;
use pointwork_embed::{AnswerCell, Body, Chunk, Chunks, Function, Host, WeakHost};

use crate::bytes::{PwBytes, PwDrop, PwGone, PwText, User, c_text, given, output};
use crate::error::{PwError, PwErrorKind, guard, guard_or};
use crate::waiting::at_most;

/// A body that the program reads.
#[derive(Debug)]
pub struct PwBody {
    chunks: Chunks,
    chunk: Bytes,
    failed: CString,
}

/// The next part of a body.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PwChunk {
    /// Bytes, at least one.
    Data = 0,
    /// The end.
    End = 1,
    /// The body broke off.
    Broken = 2,
    /// Nothing is there yet; `wake` will be called.
    Pending = 3,
}

/// Says, once, that pw_body_next is worth another call. It runs on any thread, and perhaps before pw_body_next has
/// returned.
pub type PwWake = Option<extern "C" fn(user: *mut c_void)>;

/// Gives the next chunk of a body that the program writes: it calls pw_chunk_data, pw_chunk_end or pw_chunk_break with
/// `chunk`, which is taken over, during the call or later, from any thread. It is not called again before that. It must
/// not block: it runs on the thread that wants the chunk.
pub type PwSource = Option<extern "C" fn(user: *mut c_void, chunk: Box<PwNext>)>;

/// A request for the next chunk of a body.
#[derive(Debug)]
pub struct PwNext {
    answer: AnswerCell<Chunk>,
    host: WeakHost,
}

impl PwBody {
    pub(crate) fn new(chunks: Chunks) -> Box<Self> {
        Box::new(Self {
            chunks,
            chunk: Bytes::new(),
            failed: CString::default(),
        })
    }
}

/// A body that the program gives: whole, or by a source.
#[derive(Debug)]
pub(crate) enum OutgoingBody {
    Whole(Bytes),
    Sourced(Sourced),
}

#[derive(Debug)]
pub(crate) struct Sourced {
    source: extern "C" fn(user: *mut c_void, chunk: Box<PwNext>),
    user: User,
    length: Option<u64>,
}

impl OutgoingBody {
    /// A length below 0 is not known.
    pub(crate) fn sourced(source: PwSource, user: User, length: i64) -> Option<Self> {
        let (source, length) = (source?, u64::try_from(length).ok());
        Some(Self::Sourced(Sourced { source, user, length }))
    }

    pub(crate) fn into_body(self, host: &Host) -> Body {
        match self {
            Self::Whole(bytes) => bytes.into(),
            Self::Sourced(Sourced { source, user, length }) => {
                let weak = host.downgrade();
                let function = Function::new(move |(), answer: pointwork_embed::Answer<Chunk>| {
                    let (answer, host) = (answer.into(), weak.clone());
                    source(user.pointer(), Box::new(PwNext { answer, host }));
                });
                host.body(function, length)
            }
        }
    }
}

/// The next chunk: with PW_CHUNK_DATA, *data lives until the next call or pw_body_free. Without `wake` it waits for it,
/// and returns PW_CHUNK_PENDING behind `timeout_ms`, 0 for no limit. With `wake` it returns PW_CHUNK_PENDING at once if
/// nothing is there, and `wake` is called once when it is worth another call; a later call replaces it. In the child of
/// a fork it is PW_CHUNK_BROKEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_body_next(
    body: Option<&mut PwBody>,
    timeout_ms: u64,
    data: Option<&mut MaybeUninit<PwBytes>>,
    wake: PwWake,
    user: *mut c_void,
) -> PwChunk {
    guard_or(PwChunk::Broken, || {
        let (Ok(data), Some(body)) = (output(data, "data"), body) else {
            return PwChunk::Broken;
        };
        let chunk = match wake {
            None => body.chunks.next_blocking(at_most(timeout_ms)),
            Some(wake) => {
                let user = User::new(user, None);
                body.chunks.next(move || wake(user.pointer()))
            }
        };
        match chunk {
            None => PwChunk::Pending,
            Some(Chunk::End) => PwChunk::End,
            Some(Chunk::Failed(reason)) => {
                body.failed = c_text(&reason);
                PwChunk::Broken
            }
            Some(Chunk::Data(bytes)) => {
                body.chunk = bytes;
                data.write(PwBytes::new(&body.chunk));
                PwChunk::Data
            }
        }
    })
}

/// Why the body broke off; an empty text if it did not. It lives as long as the body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_body_reason(body: Option<&PwBody>) -> *const c_char {
    body.map_or(c"".as_ptr(), |body| body.failed.as_ptr())
}

/// Frees a body. Before its end this tells the writer that nobody reads it any more. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_body_free(body: Option<Box<PwBody>>) {
    guard_or((), || drop(body));
}

/// Gives bytes, which are copied. No bytes are nothing: another chunk will be asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_chunk_data(chunk: Option<Box<PwNext>>, data: PwBytes) {
    give(chunk, || match data.get("data") {
        Ok(data) => Chunk::Data(data.to_vec().into()),
        Err(_) => Chunk::Failed("the data of a chunk is NULL".to_owned()),
    });
}

/// Ends the body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_chunk_end(chunk: Option<Box<PwNext>>) {
    give(chunk, || Chunk::End);
}

/// Breaks the body off, for that reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_chunk_break(chunk: Option<Box<PwNext>>, reason: PwText) {
    give(chunk, || {
        let reason = crate::bytes::any_text(reason, "reason").unwrap_or(b"no reason was given");
        Chunk::Failed(String::from_utf8_lossy(reason).into_owned())
    });
}

/// Has `gone` called, on a thread of the application, once nobody waits for the chunk any more: the reader went away, a
/// deadline passed, or the application was closed. It must not block. The chunk still is to be given, which frees it;
/// `gone` is not called behind that, but may run on its thread at that very time. `drop` gets `user` in any case. A
/// second callback takes the place of the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_chunk_when_gone(
    chunk: Option<&PwNext>,
    gone: PwGone,
    user: *mut c_void,
    drop: PwDrop,
) -> Option<Box<PwError>> {
    let user = User::new(user, drop);
    guard(|| {
        let (chunk, gone) = (given(chunk, "chunk")?, given(gone, "gone")?);
        let Some(host) = chunk.host.upgrade() else {
            return Err(PwError::new(PwErrorKind::Closed, "the application is gone"));
        };
        host.when_gone(&chunk.answer, move || gone(user.pointer()));
        Ok(())
    })
}

fn give(next: Option<Box<PwNext>>, chunk: impl FnOnce() -> Chunk) {
    guard_or((), || {
        if let Some(next) = next {
            // An error means that nobody reads the body any more, and the source is dropped.
            let _ = next.answer.send(chunk());
        }
    });
}
