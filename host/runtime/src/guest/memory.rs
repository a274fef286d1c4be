//! The memory that the host keeps for a version of a module outside of its instances: the limit `host-memory`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::Response;
use pointwork_core::{Body, Charge, MemoryAccount};
use wasmtime::component::ResourceTableError;

use super::Guest;
use crate::guest::bindings::types;
use crate::guest::limiter::Exceeded;

/// The name of the setting.
const LIMIT: &str = "host-memory";

/// The bytes of a request extension beside its key and its value.
pub(super) const EXTENSION: usize = 128;

/// The bytes of an event beside its name and its payload: its place in the queue, and its link of the chain.
const EVENT: usize = 512;

/// The shortest body that is counted. The number of connections and calls bounds shorter ones, and counting them would
/// cost each reply an allocation.
const COUNTED_BODY: usize = 8 * 1024;

/// The most contexts, deliveries, readers, writers and resources of WASI or of its own that an instance may hold. All
/// instances of a module together, 128 by default, then have tables of about as many bytes as `host-memory` is by default.
pub(crate) const MAX_HANDLES: usize = 8 * 1024;

/// Counts the bytes that the host keeps for a version of a module.
#[derive(Clone)]
pub(crate) struct HostMemory {
    account: Arc<MemoryAccount>,
    limit: u64,
    /// The bytes of the declarations, which the host keeps for as long as the version is there.
    declared: Arc<OnceLock<u64>>,
}

/// A reply, or a chunk of one, has no room.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoRoom {
    /// It alone is longer than the limit allows.
    Ever(Exceeded),
    /// Replies that their clients have not read, and other calls, take the room: no fault of this call.
    Now(Exceeded),
}

impl NoRoom {
    pub(crate) fn exceeded(self) -> Exceeded {
        match self {
            Self::Ever(exceeded) | Self::Now(exceeded) => exceeded,
        }
    }
}

/// Bytes that are counted for as long as somebody has them.
struct Kept {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HostMemory {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            account: MemoryAccount::new(limit),
            limit,
            declared: Arc::default(),
        }
    }

    /// Counts the declarations.
    ///
    /// # Errors
    /// They would go past the limit.
    pub(crate) fn charge_declarations(&self, bytes: usize) -> Result<Charge, Exceeded> {
        let charge = self.charge(bytes)?;
        // A version has one manifest.
        let _ = self.declared.set(bytes as u64);
        Ok(charge)
    }

    pub(crate) fn used(&self) -> u64 {
        self.account.used()
    }

    /// Counts bytes.
    ///
    /// # Errors
    /// They would go past the limit.
    pub(crate) fn charge(&self, bytes: usize) -> Result<Charge, Exceeded> {
        let charged = self.account.charge(bytes as u64);
        charged.map_err(|_| self.exceeded())
    }

    /// Counts the body of a reply until the client has taken it.
    ///
    /// # Errors
    /// It would go past the limit.
    pub(crate) fn keep_reply(&self, reply: Response<Body>) -> Result<Response<Body>, NoRoom> {
        if reply
            .body()
            .known_length()
            .is_none_or(|length| length < COUNTED_BODY as u64)
        {
            return Ok(reply);
        }
        let (head, body) = reply.into_parts();
        let body = match body.try_into_bytes() {
            Ok(bytes) => self.keep(bytes)?.into(),
            Err(body) => body,
        };
        Ok(Response::from_parts(head, body))
    }

    /// Counts bytes until nobody has them any more, unless they are few.
    fn keep(&self, bytes: Bytes) -> Result<Bytes, NoRoom> {
        if bytes.len() < COUNTED_BODY {
            return Ok(bytes);
        }
        let charge = self.charge(bytes.len()).map_err(|exceeded| {
            let alone = self.declared.get().unwrap_or(&0) + bytes.len() as u64;
            if alone > self.limit {
                NoRoom::Ever(exceeded)
            } else {
                NoRoom::Now(exceeded)
            }
        })?;
        Ok(Bytes::from_owner(Kept { bytes, _charge: charge }))
    }

    fn exceeded(&self) -> Exceeded {
        Exceeded {
            limit: LIMIT,
            value: self.limit,
            unit: "bytes",
        }
    }

    /// Whether a guest was ended because it passed too much to the host in one call, or held too many handles.
    pub(crate) fn exceeded_by(&self, trap: &wasmtime::Error) -> Option<Exceeded> {
        // wasmtime has no type for most of these errors; cases of the behaviour suite hold the texts.
        let text = trap.root_cause().to_string();
        if is_out_of_fuel(&text) {
            return Some(self.exceeded());
        }
        let is_full = matches!(trap.downcast_ref(), Some(ResourceTableError::Full));
        (is_full || text.contains("store handle limit exceeded")).then_some(Exceeded {
            limit: LIMIT,
            value: MAX_HANDLES as u64,
            unit: "handles",
        })
    }
}

/// Whether wasmtime's error says that a guest passed more to the host in one call than it may.
pub(crate) fn is_out_of_fuel(error: &str) -> bool {
    error.contains("fuel allocated for hostcalls")
}

/// The bytes that are counted of an event in a queue, or of one that is called.
pub(super) fn size_of_event(event: &str, payload: &types::Payload) -> usize {
    let payload = match payload {
        types::Payload::Json(text) => text.len(),
        types::Payload::Bytes(binary) => binary.content_type.len() + binary.data.len(),
    };
    EVENT + event.len() + payload
}

impl Guest {
    /// Counts bytes that the host keeps. `Ok(Err)` past the limit if calls share the instance, which a trap would end
    /// together; this is logged once for each call that begins.
    ///
    /// # Errors
    /// Past the limit, if the call has the instance to itself: ends the call.
    pub(super) fn charge(&self, bytes: usize) -> Result<Result<Charge, Exceeded>, Exceeded> {
        let charged = self.memory.charge(bytes);
        charged.map(Ok).or_else(|exceeded| self.past_memory(exceeded).map(Err))
    }

    /// The same for an event that the only call of an instance calls, until it has its result. Short ones are bounded by the
    /// number of instances.
    pub(super) fn charge_call(
        &mut self,
        event: &str,
        payload: &types::Payload,
    ) -> Result<Result<Charge, Exceeded>, Exceeded> {
        self.note_use(None, event);
        let bytes = size_of_event(event, payload);
        if bytes < COUNTED_BODY {
            return Ok(Ok(Charge::default()));
        }
        self.charge(bytes)
    }

    /// Counts a chunk of a reply, until the client has taken it.
    ///
    /// # Errors
    /// As [`charge`](Self::charge), for a chunk that alone is too long.
    pub(super) fn keep(&self, chunk: Vec<u8>) -> Result<Result<Bytes, NoRoom>, Exceeded> {
        self.or_past_memory(self.memory.keep(chunk.into()))
    }

    /// The same for a reply.
    pub(super) fn keep_reply(&self, reply: Response<Body>) -> Result<Result<Response<Body>, NoRoom>, Exceeded> {
        self.or_past_memory(self.memory.keep_reply(reply))
    }

    fn or_past_memory<T>(&self, kept: Result<T, NoRoom>) -> Result<Result<T, NoRoom>, Exceeded> {
        match kept {
            Err(NoRoom::Ever(exceeded)) => self.past_memory(exceeded).map(|exceeded| Err(NoRoom::Ever(exceeded))),
            Err(NoRoom::Now(exceeded)) => {
                self.counted.refused();
                Ok(Err(NoRoom::Now(exceeded)))
            }
            Ok(kept) => Ok(Ok(kept)),
        }
    }

    fn past_memory(&self, exceeded: Exceeded) -> Result<Exceeded, Exceeded> {
        if !self.shares {
            return Err(exceeded);
        }
        if !self.memory_logged.swap(true, Ordering::Relaxed) {
            tracing::error!(module = &*self.module, "{exceeded}: what needs more is dropped");
        }
        Ok(exceeded)
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::component::{Component, Linker};
    use wasmtime::{Engine, Store};

    use super::*;

    /// Makes resources of its own without end.
    const MAKER: &str = r#"(component
        (type $thing (resource (rep i32)))
        (core func $new (canon resource.new $thing))
        (core module $maker
            (import "" "new" (func $new (param i32) (result i32)))
            (func (export "make") (loop $more (drop (call $new (i32.const 0))) (br $more))))
        (core instance $instance (instantiate $maker (with "" (instance (export "new" (func $new))))))
        (func (export "make") (canon lift (core func $instance "make"))))"#;

    #[test]
    fn too_many_handles_are_named() {
        let engine = Engine::default();
        let component = Component::new(&engine, wat::parse_str(MAKER).unwrap()).unwrap();
        let mut store = Store::new(&engine, ());
        store.set_max_component_handles(10);
        let instance = Linker::new(&engine).instantiate(&mut store, &component).unwrap();
        let make = instance.get_typed_func::<(), ()>(&mut store, "make").unwrap();
        let trap = make.call(&mut store, ()).unwrap_err();
        let memory = HostMemory::new(1);
        let full = wasmtime::Error::from(ResourceTableError::Full);
        for error in [trap, full] {
            let exceeded = memory.exceeded_by(&error).unwrap();
            assert_eq!(exceeded.to_string(), "the limit `host-memory` of 8192 handles was hit");
        }
        assert_eq!(memory.exceeded_by(&wasmtime::Error::msg("another trap")), None);
    }

    #[test]
    fn short_replies_are_not_counted() {
        let memory = HostMemory::new(10_000);
        let reply = |length: usize| memory.keep_reply(Response::new(Body::from(vec![b'x'; length])));
        let short = reply(COUNTED_BODY - 1).unwrap();
        assert_eq!(memory.used(), 0);
        let long = reply(COUNTED_BODY).unwrap();
        assert_eq!(memory.used(), COUNTED_BODY as u64);
        let now = reply(COUNTED_BODY).unwrap_err();
        assert!(
            matches!(now, NoRoom::Now(exceeded) if exceeded.limit == "host-memory"),
            "{now:?}"
        );
        assert!(matches!(reply(10_001).unwrap_err(), NoRoom::Ever(_)));
        let declared = memory.charge_declarations(1000).unwrap();
        assert!(
            matches!(reply(9_001).unwrap_err(), NoRoom::Ever(_)),
            "beside the declarations"
        );
        drop((short, long, declared));
        assert_eq!(memory.used(), 0);
    }
}
