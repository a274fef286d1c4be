use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{Error, Reporter, Router, Staged, Transport};

/// Loses the first table, which the core published before the adapter attached.
pub struct ForgetsReplay {
    inner: Arc<dyn Transport>,
    begun: AtomicBool,
}

/// Serves the first table for ever.
pub struct Stale {
    inner: Arc<dyn Transport>,
    begun: AtomicBool,
}

impl ForgetsReplay {
    /// Wraps a transport with the fault.
    pub fn new(inner: Arc<dyn Transport>) -> Self {
        Self {
            inner,
            begun: AtomicBool::new(false),
        }
    }
}

impl Stale {
    /// Wraps a transport with the fault.
    pub fn new(inner: Arc<dyn Transport>) -> Self {
        Self {
            inner,
            begun: AtomicBool::new(false),
        }
    }
}

impl Transport for ForgetsReplay {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error> {
        self.inner.attach(reporter, prefix)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn supports_method(&self, method: &MethodFilter) -> bool {
        self.inner.supports_method(method)
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        if self.begun.swap(true, Ordering::Relaxed) {
            self.inner.stage(router)
        } else {
            Ok(Staged::new(|| ()))
        }
    }
}

impl Transport for Stale {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error> {
        self.inner.attach(reporter, prefix)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn supports_method(&self, method: &MethodFilter) -> bool {
        self.inner.supports_method(method)
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        if self.begun.swap(true, Ordering::Relaxed) {
            Ok(Staged::new(|| ()))
        } else {
            self.inner.stage(router)
        }
    }
}
