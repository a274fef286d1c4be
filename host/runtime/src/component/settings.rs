//! The settings of an engine that compiled code depends on.

use serde::{Deserialize, Serialize};
use wasmtime::{Config, OptLevel, WasmBacktraceDetails};

use crate::component::inspect::Form;

/// The space on a fiber's stack for host functions, on top of the guest's, in bytes.
const HOST_STACK: usize = 512 * 1024;

/// Compiled code depends on these, on the component and on the version of wasmtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct CodeSettings {
    pub(crate) form: Form,
    /// The stack of a call, in bytes.
    pub(crate) stack: usize,
    /// Whether compiling matters more than speed.
    pub(crate) development: bool,
}

impl CodeSettings {
    pub(crate) fn config(self) -> Config {
        let concurrent = self.form == Form::Asynchronous;
        let mut config = Config::new();
        config
            .concurrency_support(concurrent)
            .wasm_component_model_async(concurrent)
            .wasm_memory64(false)
            .wasm_backtrace_details(WasmBacktraceDetails::Enable)
            .epoch_interruption(true)
            .max_wasm_stack(self.stack)
            .async_stack_size(self.stack.saturating_add(HOST_STACK));
        if self.development {
            config.cranelift_opt_level(OptLevel::None);
        }
        config
    }
}
