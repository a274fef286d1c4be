//! The bodies of a guest that takes them piece by piece.

use std::sync::Arc;

use pointwork_core::{BodyReader, BodyWriter};
use tokio::sync::Mutex;

/// A request body. It is shared with the reads that are under way, which must not hold the store.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Reader(pub(super) Arc<Mutex<BodyReader>>);

impl Reader {
    pub(super) fn new(reader: BodyReader) -> Self {
        Self(Arc::new(Mutex::new(reader)))
    }
}

/// A reply body; `None` once it is finished.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Writer(pub(super) Arc<Mutex<Option<BodyWriter>>>);

impl Writer {
    pub(super) fn new(writer: BodyWriter) -> Self {
        Self(Arc::new(Mutex::new(Some(writer))))
    }
}
