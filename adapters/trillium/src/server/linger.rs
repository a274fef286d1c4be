//! The end of a connection whose client may still be sending.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::connections::{Entry, Phase};

/// How long a closed connection still takes in what the client sends.
const LINGER: Duration = Duration::from_secs(2);

/// Reads and forgets what the client still sends; the server's own direction has ended.
///
/// Closing a socket with unread bytes in it makes the operating system reset the connection, and the reset may overtake
/// the last reply: a client that uploads too much would never see its 413.
pub(crate) async fn linger(mut half: OwnedReadHalf, entry: Entry) {
    let mut scratch = vec![0; 8 * 1024];
    let mut end = pin!(tokio::time::sleep(LINGER));
    poll_fn(|cx| {
        entry.waker.register(cx.waker());
        loop {
            if end.as_mut().poll(cx).is_ready() || entry.connections.phase() == Phase::Cut {
                return Poll::Ready(());
            }
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut half).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
    })
    .await;
}
