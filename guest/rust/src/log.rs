//! Log lines for the host's log, in the span of the request that caused them. The target of a line is `pointwork::guest::log`, which directives
//! of `--log-level` name; the module path is the field `from`.
//!
//! The macros take the arguments of `format!`. Fields come before the message, as `name = value` for a value that is
//! written by `Display`, or `name:? = value` by `Debug`:
//!
//! ```
//! # let (id, tags) = (7, ["tea"]);
//! pointwork_guest::log::info!("product {id} is out of stock");
//! pointwork_guest::log::warn!(product = id, tags:? = tags; "out of stock");
//! ```

use std::fmt::Arguments;

use crate::backend;
use crate::bindings::types::Property;

pub use crate::bindings::types::Level;

/// Writes one line. Use the macros of this module instead, which set `target` to the module path.
pub fn write(level: Level, target: &str, message: Arguments<'_>, fields: &[(&str, Arguments<'_>)]) {
    let fields = fields.iter().map(|&(name, value)| Property {
        name: name.to_owned(),
        value: value.to_string(),
    });
    let fields: Vec<_> = fields.collect();
    match message.as_str() {
        Some(text) => backend::log::write(level, target, text, &fields),
        None => backend::log::write(level, target, &message.to_string(), &fields),
    }
}

/// Declares the macro of one level. `$dollar` is `$`, which a macro cannot write for the macro that it declares.
macro_rules! level {
    ($dollar:tt $name:ident $level:ident) => {
        #[doc = concat!("Writes a line of level [`", stringify!($level), "`](crate::log::Level::", stringify!($level), ");")]
        /// takes fields, then the arguments of `format!`.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $name {
            ($dollar($dollar field:ident $dollar(:$dollar debug:tt)? = $dollar value:expr),+; $dollar($dollar argument:tt)+) => {
                $crate::log::write(
                    $crate::log::Level::$level,
                    ::core::module_path!(),
                    ::core::format_args!($dollar($dollar argument)+),
                    &[$dollar((
                        ::core::stringify!($dollar field),
                        $crate::__log_value!($dollar($dollar debug)? $dollar value),
                    )),+],
                )
            };
            ($dollar($dollar argument:tt)+) => {
                $crate::log::write(
                    $crate::log::Level::$level,
                    ::core::module_path!(),
                    ::core::format_args!($dollar($dollar argument)+),
                    &[],
                )
            };
        }
    };
}

/// The value of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_value {
    (? $value:expr) => {
        ::core::format_args!("{:?}", $value)
    };
    ($value:expr) => {
        ::core::format_args!("{}", $value)
    };
}

level! { $ __log_trace Trace }
level! { $ __log_debug Debug }
level! { $ __log_info Info }
level! { $ __log_warn Warn }
level! { $ __log_error Error }

pub use {__log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace, __log_warn as warn};
