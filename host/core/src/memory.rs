//! Counts the bytes that are kept for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes against one limit. A [`Charge`] counts bytes until it is dropped.
#[derive(Debug)]
pub struct MemoryAccount {
    limit: u64,
    used: AtomicU64,
}

/// Bytes that are counted until it is dropped. The default counts none.
#[derive(Debug, Default)]
pub struct Charge {
    /// `None` as long as it counts none.
    account: Option<Arc<MemoryAccount>>,
    bytes: u64,
}

/// Further bytes would go past the limit of an account, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} bytes are the limit")]
#[non_exhaustive]
pub struct MemoryExceeded {
    /// The limit, in bytes.
    pub limit: u64,
}

impl MemoryAccount {
    /// An account that counts up to `limit` bytes.
    ///
    /// ```
    /// use pointwork_core::MemoryAccount;
    ///
    /// let account = MemoryAccount::new(10);
    /// let mut charge = account.charge(6).unwrap();
    /// assert!(charge.grow(&account, 5).is_err());
    /// assert_eq!(account.used(), 6);
    /// drop(charge);
    /// assert_eq!(account.used(), 0);
    /// ```
    pub fn new(limit: u64) -> Arc<Self> {
        let used = AtomicU64::new(0);
        Arc::new(Self { limit, used })
    }

    /// The bytes that are counted now.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts this number of bytes.
    ///
    /// # Errors
    /// They would go past the limit. None are counted then.
    pub fn charge(self: &Arc<Self>, bytes: u64) -> Result<Charge, MemoryExceeded> {
        let mut charge = Charge::default();
        charge.grow(self, bytes)?;
        Ok(charge)
    }

    fn add(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        let added = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.map(drop).map_err(|_| MemoryExceeded { limit: self.limit })
    }
}

impl Charge {
    /// Counts further bytes. A charge belongs to one account: that of its first bytes.
    ///
    /// # Errors
    /// They would go past the limit. The charge is unchanged then.
    pub fn grow(&mut self, account: &Arc<MemoryAccount>, bytes: u64) -> Result<(), MemoryExceeded> {
        if bytes == 0 {
            return Ok(());
        }
        self.account.get_or_insert_with(|| account.clone()).add(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            account.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_their_charge_is_gone() {
        let account = MemoryAccount::new(100);
        let mut first = account.charge(60).unwrap();
        assert_eq!(account.charge(41).unwrap_err(), MemoryExceeded { limit: 100 });
        let second = account.charge(40).unwrap();
        assert!(first.grow(&account, 1).is_err());
        drop(second);
        first.grow(&account, 40).unwrap();
        assert_eq!(account.used(), 100);
        assert!(account.charge(u64::MAX).is_err(), "the sum does not wrap around");
        drop(first);
        assert_eq!(account.used(), 0);
    }
}
