//! The memory and table limits of one instance.

use wasmtime::ResourceLimiter;

/// Bounds the memories and tables of one instance, and records the refusal when one would grow past its bound: the guest
/// usually traps then, and the trap does not name the reason.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: usize,
    table_elements: usize,
    /// The size of all memories of the instance together, in bytes.
    used: usize,
    /// That size when the instance was made.
    initial: usize,
    /// The last refusal of the call.
    pub(crate) refused: Option<Exceeded>,
}

/// A limit that a guest would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the limit `{limit}` of {value} {unit} was hit")]
pub(crate) struct Exceeded {
    /// The name of the setting.
    pub(crate) limit: &'static str,
    /// Its value.
    pub(crate) value: u64,
    pub(crate) unit: &'static str,
}

impl Limiter {
    pub(crate) fn new(memory: usize, table_elements: usize) -> Self {
        Self {
            memory,
            table_elements,
            used: 0,
            initial: 0,
            refused: None,
        }
    }

    /// The instance was made.
    pub(crate) fn made(&mut self) {
        self.initial = self.used;
    }

    /// Whether calls grew the memories beyond half of the limit. A memory never shrinks, so another instance takes the place of this one.
    pub(crate) fn has_grown(&self) -> bool {
        self.used > self.initial && self.used > self.memory / 2
    }

    /// Forgets earlier refusals.
    pub(crate) fn begin_call(&mut self) {
        self.refused = None;
    }

    fn refuse(&mut self, limit: &'static str, value: usize, unit: &'static str) {
        let value = value as u64;
        self.refused = Some(Exceeded { limit, value, unit });
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_sub(current).saturating_add(desired);
        if used > self.memory {
            self.refuse("memory", self.memory, "bytes");
            return Ok(false);
        }
        self.used = used;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.table_elements {
            self.refuse("table-elements", self.table_elements, "entries");
            return Ok(false);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_of_an_instance_share_its_limit() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 50, None).unwrap());
        assert_eq!(limiter.refused.unwrap().limit, "memory");
        limiter.begin_call();
        assert!(limiter.memory_growing(60, 70, None).unwrap());
        assert!(limiter.memory_growing(0, 30, None).unwrap());
        assert_eq!(limiter.refused, None);
    }

    #[test]
    fn an_instance_has_grown_by_its_calls_alone() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        limiter.made();
        assert!(!limiter.has_grown());
        assert!(limiter.memory_growing(60, 61, None).unwrap());
        assert!(limiter.has_grown());
        let mut limiter = Limiter::new(100, 10);
        limiter.made();
        assert!(limiter.memory_growing(0, 50, None).unwrap());
        assert!(!limiter.has_grown(), "half");
    }

    #[test]
    fn tables_are_bounded_one_by_one() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(!limiter.table_growing(10, 11, None).unwrap());
        let refused = limiter.refused.unwrap();
        assert_eq!(refused.to_string(), "the limit `table-elements` of 10 entries was hit");
    }
}
