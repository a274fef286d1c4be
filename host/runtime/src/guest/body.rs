//! The bodies of a guest that takes them piece by piece.

use std::sync::Arc;

use pointwork_core::{BodyReader, BodyWriter};
use tokio::sync::Mutex;

use super::streams::StreamSlot;

/// A request body. It is shared with the reads that are under way, which must not hold the store.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Reader(pub(super) Arc<Mutex<BodyReader>>);

impl Reader {
    pub(super) fn new(reader: BodyReader) -> Self {
        Self(Arc::new(Mutex::new(reader)))
    }
}

/// The rest of a reply, and the slot to wait for its reader, if the call has none.
pub(super) type OpenReply = (BodyWriter, Option<StreamSlot>);

/// A reply body; `None` once it is finished.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Writer(pub(super) Arc<Mutex<Option<OpenReply>>>);

impl Writer {
    pub(super) fn new(writer: BodyWriter, slot: Option<StreamSlot>) -> Self {
        Self(Arc::new(Mutex::new(Some((writer, slot)))))
    }
}
