//! One connection: its socket, and how long the server waits for the client.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use pointwork_core::ServerOptions;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep_until};

/// How long a connection stays after its last reply, for a client that still sends. Closing a socket with unread bytes in
/// it resets the connection, and the reset may overtake the reply.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

/// The state of a connection: by when its client has to act, and how its replies end. It stays on the connection's thread.
///
/// actix-http knows a time for the first head of a connection and one for an idle connection, and none for a later head or
/// for a client that does not read. So the parts of a connection note here by when something has to happen, and its one
/// timer, in [`Connection`], looks here.
#[derive(Default)]
pub(crate) struct Link {
    header_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    /// By when the next head has to be there.
    head_due: Cell<Option<Instant>>,
    /// By when the client has to take more of what is written to it.
    write_due: Cell<Option<Instant>>,
    /// The client takes no more bytes for now.
    stalled: Cell<bool>,
    begun: Cell<bool>,
    /// The client has closed its half of the connection.
    gone: Cell<bool>,
    in_flight: Cell<bool>,
    /// The reply is the last of its connection.
    last: Cell<bool>,
    /// The end of the connection is the end of the reply.
    unframed: Cell<bool>,
    /// The last reply is there, and a request that nobody answers came behind it.
    closing: Cell<bool>,
    /// All of the reply was handed to actix-http.
    whole: Cell<bool>,
}

impl Link {
    pub(crate) fn new(options: &ServerOptions) -> Rc<Self> {
        let link = Self {
            header_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            ..Self::default()
        };
        link.head_due.set(after(options.first_byte_timeout));
        Rc::new(link)
    }

    /// A request is there. `None` if the connection has had its last reply, so that nobody may answer.
    pub(crate) fn begin(self: &Rc<Self>) -> Option<InFlight> {
        if self.last.get() {
            self.closing.set(true);
            self.head_due.set(after(Some(LINGER)));
            return None;
        }
        self.head_due.set(None);
        self.in_flight.set(true);
        Some(InFlight(self.clone()))
    }

    pub(crate) fn reply_begins(&self, last: bool, unframed: bool) {
        self.last.set(last);
        self.unframed.set(unframed);
    }

    pub(crate) fn reply_is_whole(&self) {
        self.whole.set(true);
    }

    fn await_head(&self) {
        self.head_due.set(after(self.header_timeout));
    }

    fn note_read(&self, length: usize) {
        self.gone.set(length == 0);
        if !self.begun.replace(true) {
            self.await_head();
        }
    }

    fn note_write(&self, moved: bool) {
        if !moved && !self.stalled.replace(true) {
            self.write_due.set(after(self.write_timeout));
        } else if moved && self.stalled.replace(false) && !self.in_flight.get() {
            // While the client took nothing of a reply, it was not idle.
            self.await_head();
        }
    }

    fn due(&self) -> Option<Instant> {
        if self.stalled.get() {
            self.write_due.get()
        } else {
            self.head_due.get()
        }
    }

    /// Whether the end of the connection would make a broken reply look whole.
    fn has_to_reset(&self) -> bool {
        self.unframed.get() && (self.stalled.get() || !self.whole.get())
    }
}

fn after(wait: Option<Duration>) -> Option<Instant> {
    wait.map(|wait| Instant::now() + wait)
}

/// The request in flight; dropping it ends it.
pub(crate) struct InFlight(pub(crate) Rc<Link>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.set(false);
        self.0.await_head();
    }
}

/// The socket of a connection, with a note of each read and write. The bytes pass as they are.
pub(crate) struct Io {
    stream: TcpStream,
    pub(crate) link: Rc<Link>,
}

impl Io {
    pub(crate) fn new(stream: TcpStream, link: Rc<Link>) -> Self {
        Self { stream, link }
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, out))?;
        self.link.note_read(out.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.link.note_write(written.is_ready());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if self.link.closing.get() && !self.link.in_flight.get() {
            // The client need not wait for the end of what it sends.
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        if self.link.has_to_reset() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// A connection at work: actix-http's own future for it, and the timer that ends it.
pub(crate) struct Connection<H> {
    http: Pin<Box<H>>,
    link: Rc<Link>,
    timer: Option<Pin<Box<Sleep>>>,
    /// The place of the connection among the open ones.
    _open: watch::Receiver<()>,
}

impl<H> Connection<H> {
    pub(crate) fn new(http: H, link: Rc<Link>, open: watch::Receiver<()>) -> Self {
        Self {
            http: Box::pin(http),
            link,
            timer: None,
            _open: open,
        }
    }

    /// Ready when the time is over. The timer is set anew only when it fired, or when something is due before it: nearly
    /// never for a connection whose requests follow each other.
    fn poll_times(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(due) = self.link.due() else {
                return Poll::Pending;
            };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
            if timer.deadline().into_std() > due {
                timer.as_mut().reset(due.into());
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due.into());
        }
    }
}

impl<H, E> Future for Connection<H>
where
    H: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    type Output = Result<(), ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        // It notes what is due.
        if let Poll::Ready(end) = self.http.as_mut().poll(cx) {
            if let Err(error) = end {
                tracing::debug!("a connection ended: {error}");
            }
            return Poll::Ready(Ok(()));
        }
        if self.link.gone.get() && (self.link.in_flight.get() || self.link.closing.get()) {
            // Nobody waits for the handler, or sends any more.
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_times(cx));
        tracing::debug!("a connection was closed: its client took too long");
        Poll::Ready(Ok(()))
    }
}
