//! The disconnect of a client while its handler runs, and while the next chunk of its reply does not come.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use futures_util::FutureExt as _;
use futures_util::task::AtomicWaker;
use socket2::Socket;
use tokio::io::Interest;
use tokio::net::TcpStream;
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

/// The client of a reply in chunks. trillium reads nothing while the reply is written, so the client has a descriptor of its own.
pub(crate) struct Client {
    socket: Option<Socket>,
    /// There once a chunk was late.
    watched: Option<TcpStream>,
}

impl Client {
    pub(crate) fn new(socket: Socket) -> Self {
        let (socket, watched) = (Some(socket), None);
        Self { socket, watched }
    }

    /// Completes when the client has closed its direction of the connection, also if bytes are unread.
    pub(crate) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(socket) = self.socket.take() {
            self.watched = TcpStream::from_std(socket.into()).ok();
        }
        let Some(stream) = &self.watched else {
            return Poll::Pending;
        };
        loop {
            if ready!(stream.poll_read_ready(cx)).is_err() {
                return Poll::Ready(());
            }
            let ready = stream.ready(Interest::READABLE).now_or_never();
            if ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
                return Poll::Ready(());
            }
            // Clears the readiness of the socket, so that its next event wakes the task.
            let seen = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = stream.try_io(Interest::READABLE, seen);
        }
    }
}
