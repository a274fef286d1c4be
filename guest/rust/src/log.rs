//! Log lines for the host's log, in the span of the request that caused them and with the module path as target.
//!
//! ```
//! # let id = 7;
//! pointwork_guest::log::info!("product {id} is out of stock");
//! ```

use std::fmt::Arguments;

use crate::backend;
pub use crate::bindings::imports::pointwork::module::log::Level;

/// Writes one line. Use the macros of this module instead, which set `target` to the module path.
pub fn write(level: Level, target: &str, message: Arguments<'_>) {
    match message.as_str() {
        Some(text) => backend::log::write(level, target, text),
        None => backend::log::write(level, target, &message.to_string()),
    }
}

/// Writes a line of level [`Trace`](crate::log::Level::Trace); takes the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_trace {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Trace, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Debug`](crate::log::Level::Debug); takes the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Debug, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Info`](crate::log::Level::Info); takes the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Info, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Warn`](crate::log::Level::Warn); takes the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Warn, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

/// Writes a line of level [`Error`](crate::log::Level::Error); takes the arguments of `format!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($argument:tt)+) => {
        $crate::log::write($crate::log::Level::Error, ::core::module_path!(), ::core::format_args!($($argument)+))
    };
}

pub use {__log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace, __log_warn as warn};
