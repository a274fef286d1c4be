//! From the bytes of a component to a module that can be instantiated.

pub(crate) mod compiler;
pub(crate) mod engine;
pub(crate) mod inspect;
pub(crate) mod link;
pub(crate) mod lint;
pub(crate) mod manifest;
pub(crate) mod module_pre;
pub(crate) mod pool_account;
pub(crate) mod settings;
