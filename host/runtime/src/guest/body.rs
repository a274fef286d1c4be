//! The bodies of a guest that takes them chunk by chunk.

use std::sync::Arc;

use pointwork_core::{BodyReader, BodyWriter, Caller};
use tokio::sync::Mutex;

use super::stream_permits::StreamPermit;

/// A request body. It is shared with the reads that are under way, which must not hold the store.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Reader(pub(super) Arc<Mutex<BodyReader>>);

impl Reader {
    pub(super) fn new(reader: BodyReader) -> Self {
        Self(Arc::new(Mutex::new(reader)))
    }
}

/// A reply that is written in chunks.
pub(super) struct OpenReply {
    pub(super) writer: BodyWriter,
    /// Reports for its request.
    pub(super) caller: Caller,
    /// The slot to wait for the client, if the call has none.
    pub(super) _slot: Option<StreamPermit>,
}

/// A reply body; `None` once it is finished.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Writer(pub(super) Arc<Mutex<Option<OpenReply>>>);

impl Writer {
    pub(super) fn new(open: OpenReply) -> Self {
        Self(Arc::new(Mutex::new(Some(open))))
    }
}
