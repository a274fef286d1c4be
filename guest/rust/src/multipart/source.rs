//! The body as the stream that multer reads.

use std::cell::Cell;
use std::error::Error as _;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Task, Poll, ready};

use futures_util::stream::{LocalBoxStream, Stream, StreamExt as _, try_unfold};
use send_wrapper::SendWrapper;

use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::stream::BodyReader;

/// How much is read at once, and so about how large a chunk of a part is.
const CHUNK: u32 = 16 * 1024;

/// How much is read before a part begins: its head, the end of the part before, or what precedes the first boundary.
const LONGEST_HEAD: usize = 64 * 1024;

/// From this length on, the chunks of a head are gathered before multer searches all of the head again for its end.
const LONG_HEAD: usize = 4 * 1024;

/// What the stream and its reader tell each other.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Whether multer needs more than it has.
    may_read: Cell<bool>,
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

    /// Lets the stream give its next chunk, if it was pending only because multer may not read ahead.
    pub(super) fn let_read(&self) -> bool {
        let was_held_back = self.was_held_back.take();
        self.may_read.set(was_held_back || self.may_read.get());
        was_held_back
    }
}

type Chunks = LocalBoxStream<'static, Result<Vec<u8>, Failure>>;

/// The chunks of a body, each when multer has used up the chunk before: multer keeps everything that is ready, and would copy
/// what it keeps with each part.
pub(super) struct Source {
    /// multer wants a stream that may move to another thread. A module has one thread, and a unit test keeps to its own.
    inner: SendWrapper<Inner>,
}

struct Inner {
    chunks: Chunks,
    /// What was gathered of a long head.
    gathered: Vec<u8>,
    progress: Rc<Progress>,
}

impl Source {
    pub(super) fn new<F: ModuleForm>(reader: BodyReader<F>, progress: Rc<Progress>) -> Self {
        let chunks = try_unfold(reader, |reader| async {
            let chunk = F::read(&reader, CHUNK).await?;
            Ok(chunk.map(|chunk| (chunk, reader)))
        });
        Self::of(chunks.boxed_local(), progress)
    }

    fn of(chunks: Chunks, progress: Rc<Progress>) -> Self {
        let gathered = Vec::new();
        Self {
            inner: SendWrapper::new(Inner {
                chunks,
                gathered,
                progress,
            }),
        }
    }
}

impl Stream for Source {
    type Item = Result<Vec<u8>, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let Inner {
            chunks,
            gathered,
            progress,
        } = &mut *self.inner;
        if !progress.may_read.get() {
            progress.was_held_back.set(true);
            return Poll::Pending;
        }
        let before = progress.of_head.get().unwrap_or_default();
        let needed = if before < LONG_HEAD { 0 } else { before / 2 };
        loop {
            let chunk = match ready!(chunks.as_mut().poll_next(task)) {
                Some(Ok(chunk)) => chunk,
                None if !gathered.is_empty() => Vec::new(),
                other => return Poll::Ready(other),
            };
            let is_end = chunk.is_empty();
            let chunk = if gathered.is_empty() {
                chunk
            } else {
                gathered.extend(chunk);
                take(gathered)
            };
            if chunk.len() < needed && !is_end {
                *gathered = chunk;
                continue;
            }
            progress.may_read.set(false);
            if progress.of_head.get().is_some() {
                let read = before + chunk.len();
                progress.of_head.set(Some(read));
                if read > LONGEST_HEAD {
                    let message = format!("body: a part has no end of its head within {LONGEST_HEAD} bytes");
                    return Poll::Ready(Some(Err(Failure::new(400_u16, message))));
                }
            }
            return Poll::Ready(Some(Ok(chunk)));
        }
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

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::rc::Rc;
    use std::task::{Context, Poll, Waker};

    use futures_util::stream::{Stream as _, StreamExt as _, iter};

    use super::{LONGEST_HEAD, Progress, Source};

    /// The lengths of the chunks of a head that arrives byte by byte.
    fn chunks_of(length: usize) -> Vec<usize> {
        let progress = Rc::new(Progress::default());
        let bytes = iter((0..length).map(|_| Ok(vec![b'a'])));
        let mut source = Source::of(bytes.boxed_local(), Rc::clone(&progress));
        progress.begin_head();
        let mut task = Context::from_waker(Waker::noop());
        let mut lengths = Vec::new();
        loop {
            match Pin::new(&mut source).poll_next(&mut task) {
                Poll::Ready(Some(Ok(chunk))) => lengths.push(chunk.len()),
                Poll::Ready(_) => return lengths,
                Poll::Pending => assert!(progress.let_read()),
            }
        }
    }

    #[test]
    fn a_long_head_that_arrives_byte_by_byte_is_not_searched_for_each_byte() {
        let short = chunks_of(4_000);
        assert_eq!(short, vec![1; 4_000]);
        let longest = chunks_of(LONGEST_HEAD);
        assert_eq!(longest.iter().sum::<usize>(), LONGEST_HEAD);
        assert!(longest.len() < 4_096 + 16, "{}", longest.len());
    }
}
