//! The guards that ran for a request.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// A guard that ran, with the one before it.
pub(crate) trait GuardRun: Any {
    fn before(&self) -> Option<&Rc<dyn GuardRun>>;
}

/// The guard that ran last. Without a guard it allocates nothing.
#[derive(Default)]
pub(crate) struct GuardsRun(Cell<Option<Rc<dyn GuardRun>>>);

impl GuardsRun {
    pub(crate) fn last(&self) -> Option<Rc<dyn GuardRun>> {
        let last = self.0.take();
        self.0.set(last.clone());
        last
    }

    pub(crate) fn set_last(&self, run: Rc<dyn GuardRun>) {
        self.0.set(Some(run));
    }
}

impl fmt::Debug for GuardsRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardsRun")
    }
}
