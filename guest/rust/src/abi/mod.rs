//! The canonical ABI of the component model, as far as the contract needs it.
//!
//! The bindings declare the types and functions of the contract with the macros of this module. Every type is written
//! once to linear memory and read once from it ([`Lower`], [`Lift`]), and all functions share that code.
//!
//! Flat parameters come from the same code: in the types that the contract passes, each field occupies words of its own,
//! so the words in memory are the flat values. The test `bindings` checks that for every function.

#[cfg(target_arch = "wasm32")]
mod call;
mod declare;
#[cfg(target_arch = "wasm32")]
mod values;

#[cfg(target_arch = "wasm32")]
pub(crate) use call::{give, import, import_waiting, lower, lower_all, take_back, wait};
pub(crate) use declare::{enumeration, record, variant};
#[cfg(target_arch = "wasm32")]
pub(crate) use declare::{imports, resource, waiting};
#[cfg(target_arch = "wasm32")]
pub(crate) use values::{Lift, Lists, Lower, aligned, largest, record_size};
