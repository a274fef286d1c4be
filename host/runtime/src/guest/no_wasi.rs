//! Without the feature `grants`, a module that needs a grant is refused before it is compiled.

use std::sync::Arc;

use wasmtime::component::Linker;

use super::Guest;
use super::budget::Budget;
use super::spans::CurrentCall;
use crate::grants::Grants;
use crate::variables::Values;

pub(crate) enum Wasi {}

impl Wasi {
    pub(super) fn new(
        _: &Arc<Grants>,
        _: &Values,
        _: &Arc<str>,
        _: &Arc<Budget>,
        _: &CurrentCall,
    ) -> wasmtime::Result<Self> {
        Err(wasmtime::format_err!("this host has no WASI"))
    }

    pub(super) fn end_lines(&self) {}
}

pub(crate) fn add_to_linker(_: &mut Linker<Guest>) -> wasmtime::Result<()> {
    Ok(())
}
