//! The end of a streamed reply: it waits for the store of the events that were emitted before it.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;

use super::body::BodyError;
use crate::Executor;
use crate::events::durable::gate::{Gate, Recorded};

type Polled = Option<Result<Frame<Bytes>, BodyError>>;

/// Holds the last chunk of a reply, or its end, until the events that were emitted before are confirmed.
pub(crate) struct EndGate {
    gate: Arc<Gate>,
    executor: Arc<dyn Executor>,
    /// What is held back.
    held: Option<Polled>,
    recorded: Option<Recorded>,
}

impl EndGate {
    pub(crate) fn new(gate: Arc<Gate>, executor: &Arc<dyn Executor>) -> Self {
        Self {
            gate,
            executor: executor.clone(),
            held: None,
            recorded: None,
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Holds the last chunk or the end back. It begins to wait for what was emitted until now.
    pub(super) fn hold(&mut self, last: Polled) {
        self.held = Some(last);
        self.recorded = self.gate.wait(None, &self.executor);
    }

    /// What was held back, once it may go on.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Polled> {
        if let Some(recorded) = &mut self.recorded {
            let recorded = ready!(recorded.as_mut().poll(cx));
            self.recorded = None;
            if recorded.is_err() {
                self.held = Some(Some(Err(BodyError::Unrecorded)));
            }
        }
        Poll::Ready(self.held.take().flatten())
    }
}
