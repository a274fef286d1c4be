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

/// Declares the macro of one level. `$dollar` is `$`, which a macro cannot write for the macro that it declares.
macro_rules! level {
    ($dollar:tt $name:ident $level:ident) => {
        #[doc = concat!("Writes a line of level [`", stringify!($level), "`](crate::log::Level::", stringify!($level), ");")]
        /// takes the arguments of `format!`.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $name {
            ($dollar($dollar argument:tt)+) => {
                $crate::log::write(
                    $crate::log::Level::$level,
                    ::core::module_path!(),
                    ::core::format_args!($dollar($dollar argument)+),
                )
            };
        }
    };
}

level! { $ __log_trace Trace }
level! { $ __log_debug Debug }
level! { $ __log_info Info }
level! { $ __log_warn Warn }
level! { $ __log_error Error }

pub use {__log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace, __log_warn as warn};
