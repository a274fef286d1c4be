//! Log lines. They join the host's log within the span of the request that caused them, with the module path as target.
//!
//! ```
//! # let id = 7;
//! pointwork_guest::log::info!("product {id} is out of stock");
//! ```

use std::fmt::Arguments;

use crate::backend;
use crate::bindings::imports::pointwork::module::log::Level as Wire;

pub use crate::{
    __log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace, __log_warn as warn,
};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// What a developer wants to see while looking for a fault.
    Debug,
    /// What an operator wants to see.
    Info,
    /// Something is odd, and the request goes on.
    Warn,
    /// Something failed.
    Error,
}

/// Writes one line. The macros of this module are the usual way; `target` says where the line comes from.
pub fn write(level: Level, target: &str, message: Arguments<'_>) {
    let level = match level {
        Level::Trace => Wire::Trace,
        Level::Debug => Wire::Debug,
        Level::Info => Wire::Info,
        Level::Warn => Wire::Warn,
        Level::Error => Wire::Error,
    };
    match message.as_str() {
        Some(text) => backend::log::write(level, target, text),
        None => backend::log::write(level, target, &message.to_string()),
    }
}

/// Writes a line of level [`Trace`](crate::log::Level::Trace); takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_trace {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Trace, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Debug`](crate::log::Level::Debug); takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Debug, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Info`](crate::log::Level::Info); takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Info, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Warn`](crate::log::Level::Warn); takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Warn, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Error`](crate::log::Level::Error); takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Error, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}
