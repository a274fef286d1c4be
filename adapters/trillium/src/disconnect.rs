//! The disconnect of a client while its handler runs.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use trillium::Conn;

/// The number of times that the client may send something ahead before its disconnect is not watched for any more.
const MOST_READS: u8 = 8;

/// Completes with `None` when the client disconnects first, as far as trillium can tell.
///
/// trillium finds out by reading, and keeps the bytes: a client that sends its next requests ahead would fill the memory.
/// So nothing is read any more once the client has sent something a few times.
pub(crate) async fn unless_disconnected<F: Future>(conn: &mut Conn, mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut reads_left = MOST_READS;
    let mut watch = None;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if reads_left == 0 {
            return Poll::Pending;
        }
        let (read_wake, waker) = watch.get_or_insert_with(|| {
            let read_wake = Arc::new(ReadWake::default());
            let waker = Waker::from(read_wake.clone());
            (read_wake, waker)
        });
        read_wake.task.register(cx.waker());
        let is_gone = pin!(conn.is_disconnected()).poll(&mut Context::from_waker(waker));
        if is_gone == Poll::Ready(true) {
            return Poll::Ready(None);
        }
        reads_left -= u8::from(read_wake.has_read.swap(false, Ordering::Relaxed));
        Poll::Pending
    })
    .await
}

/// Notes that trillium woke the task, which it does at once when it has read something.
#[derive(Default)]
struct ReadWake {
    has_read: AtomicBool,
    task: AtomicWaker,
}

impl Wake for ReadWake {
    fn wake(self: Arc<Self>) {
        self.has_read.store(true, Ordering::Relaxed);
        self.task.wake();
    }
}
