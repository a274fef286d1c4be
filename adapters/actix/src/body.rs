//! Request bodies: converts the body of actix-web, which stays on its thread, to the body of the core, which any thread may read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream as _;
use pointwork_core::adapter::BodyPump;
use pointwork_core::{Body, BodyError};

/// A payload, and the pump that fills the core's body from it. It has to be polled on the payload's own thread.
///
/// It is kept until the reply is written, even if nobody reads: if it is dropped earlier, actix-http
/// treats the body as unread, and closes the connection.
pub(crate) struct PayloadPump {
    payload: Payload,
    pump: BodyPump,
}

impl PayloadPump {
    pub(crate) fn new(payload: Payload, length: Option<u64>) -> (Self, Body) {
        let (pump, body) = BodyPump::new(length);
        (Self { payload, pump }, body)
    }

    /// Hands over the chunk that the reader waits for; returns whether it did.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.pump.poll_wanted(cx) != Poll::Ready(true) {
            return false;
        }
        let Poll::Ready(chunk) = self.poll_payload(cx) else {
            return false;
        };
        self.pump.put(chunk);
        true
    }

    /// Whether the reader has the whole body.
    pub(crate) fn is_over(&self) -> bool {
        self.pump.is_over()
    }

    fn poll_payload(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let chunk = ready!(Pin::new(&mut self.payload).poll_next(cx));
            if !matches!(&chunk, Some(Ok(data)) if data.is_empty()) {
                return Poll::Ready(chunk.map(|data| data.map_err(body_error)));
            }
        }
    }
}

fn body_error(error: PayloadError) -> BodyError {
    match error {
        PayloadError::Incomplete(_) => BodyError::Incomplete,
        PayloadError::Overflow => BodyError::TooLarge { limit: None },
        error => BodyError::Transport(Box::new(error)),
    }
}
