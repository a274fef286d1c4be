//! Whether the client is still there.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use trillium::Conn;

/// How many times the client may have sent something.
const LOOKS: u8 = 8;

/// Completes when the client went away, as far as trillium can tell.
///
/// trillium finds out by reading, and keeps what it reads: a client that sends its next requests ahead would fill the
/// memory. So nobody looks any more once the client has sent something a few times.
pub(crate) async fn client_gone(conn: &mut Conn) {
    let mut looks = LOOKS;
    poll_fn(|cx| {
        if looks == 0 {
            return Poll::Pending;
        }
        let told = Arc::new(Told {
            again: AtomicBool::new(false),
            task: cx.waker().clone(),
        });
        let waker = Waker::from(told.clone());
        let gone = {
            let mut asking = std::pin::pin!(conn.is_disconnected());
            match asking.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(gone) => gone,
                Poll::Pending => false,
            }
        };
        if gone {
            return Poll::Ready(());
        }
        // It asks for another look at once when it got bytes.
        looks -= u8::from(told.again.load(Ordering::Relaxed));
        Poll::Pending
    })
    .await;
}

struct Told {
    again: AtomicBool,
    task: Waker,
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.again.store(true, Ordering::Relaxed);
        self.task.wake_by_ref();
    }
}
