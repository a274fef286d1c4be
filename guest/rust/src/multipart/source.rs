//! The body as the stream that multer reads.

use std::cell::Cell;
use std::error::Error as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Task, Poll};

use futures_util::stream::{LocalBoxStream, Stream, StreamExt as _, try_unfold};
use send_wrapper::SendWrapper;

use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::stream::BodyReader;

/// How much is read at once, and so about how large a chunk of a part is.
const CHUNK: u32 = 16 * 1024;

/// How much is read before a part begins: its head, the end of the part before, or what precedes the first boundary.
const LONGEST_HEAD: usize = 64 * 1024;

/// What the stream and its reader tell each other.
#[derive(Debug, Default)]
pub(super) struct Progress {
    has_given: Cell<bool>,
    was_held_back: Cell<bool>,
    /// The bytes that were read of a head; `None` while a part is read.
    of_head: Cell<Option<usize>>,
}

impl Progress {
    pub(super) fn begin_head(&self) {
        self.of_head.set(Some(0));
    }

    pub(super) fn end_head(&self) {
        self.of_head.set(None);
    }

    /// Whether the stream was pending only to end a reading ahead.
    pub(super) fn was_held_back(&self) -> bool {
        self.was_held_back.take()
    }
}

type Chunks = LocalBoxStream<'static, Result<Vec<u8>, Failure>>;

/// The chunks of a body, each followed by one pending poll: multer keeps everything that is ready.
pub(super) struct Source {
    /// multer wants a stream that may move to another thread. A module has one thread, and a unit test keeps to its own.
    chunks: SendWrapper<(Chunks, Rc<Progress>)>,
}

impl Source {
    pub(super) fn new<F: ModuleForm>(reader: BodyReader<F>, progress: Rc<Progress>) -> Self {
        let chunks = try_unfold(reader, |reader| async {
            let chunk = F::read(&reader, CHUNK).await?;
            Ok(chunk.map(|chunk| (chunk, reader)))
        });
        Self {
            chunks: SendWrapper::new((chunks.boxed_local(), progress)),
        }
    }
}

impl Stream for Source {
    type Item = Result<Vec<u8>, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let (chunks, progress) = &mut *self.chunks;
        if progress.has_given.take() {
            progress.was_held_back.set(true);
            return Poll::Pending;
        }
        let polled = chunks.as_mut().poll_next(task);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            progress.has_given.set(true);
            if let Some(before) = progress.of_head.get() {
                let read = before + chunk.len();
                progress.of_head.set(Some(read));
                if read > LONGEST_HEAD {
                    let message = format!("body: a part has no end of its head within {LONGEST_HEAD} bytes");
                    return Poll::Ready(Some(Err(Failure::new(400_u16, message))));
                }
            }
        }
        polled
    }
}

/// The failure of the host if reading failed, otherwise what is wrong with the body.
pub(super) fn failure(error: multer::Error) -> Failure {
    let of_body = error.source().and_then(|source| source.downcast_ref::<Failure>());
    if let Some(failure) = of_body {
        return failure.clone();
    }
    let message = match &error {
        multer::Error::IncompleteStream | multer::Error::IncompleteFieldData { .. } => {
            "body: the parts end without the last boundary, or a boundary or the head of a part is malformed".to_owned()
        }
        other => format!("body: {other}"),
    };
    Failure::new(400_u16, message)
}
