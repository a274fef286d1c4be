//! The body of a request, read straight from the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use pointwork_core::BodyError;

use super::framing::Step;
use super::link::Link;

pub(crate) struct Incoming {
    link: Arc<Link>,
    request: u64,
    /// `None` for chunks.
    left: Option<u64>,
    over: bool,
}

impl Incoming {
    pub(crate) fn new(link: Arc<Link>, request: u64, length: Option<u64>) -> Self {
        Self {
            link,
            request,
            left: length,
            over: false,
        }
    }
}

impl HttpBody for Incoming {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.is_end_stream() {
            // The connection may be at its next request already.
            return Poll::Ready(None);
        }
        let step = match ready!(self.link.poll_body(self.request, cx)) {
            Ok(Step::Data(data)) => {
                if let Some(left) = &mut self.left {
                    *left -= data.len() as u64;
                }
                Some(Ok(Frame::data(data)))
            }
            Ok(Step::End | Step::More) => {
                self.over = true;
                None
            }
            Err(error) => {
                self.over = true;
                Some(Err(error))
            }
        };
        Poll::Ready(step)
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
