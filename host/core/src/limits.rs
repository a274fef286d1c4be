//! Limits: the name, unit, default and bounds of each stand in one definition.
//!
//! [`limits!`](crate::limits!) turns a list of limits into a struct of options with its documentation, its defaults, a setter
//! for each field, and its [table](Limits::TABLE). Configuration files, their checks, the documentation and the tests of the
//! bounds use the table.
//!
//! ```
//! use pointwork_core::BusOptions;
//! use pointwork_core::limits::{Amount, Limits};
//!
//! let mut options = BusOptions::new().payload_limit(4_096);
//! options.set("event-queue", Amount::Count(16))?;
//! assert_eq!((options.queue, options.payload_limit), (16, 4_096));
//! let error = options.set("event-queue", Amount::Count(0)).unwrap_err();
//! assert_eq!(error.to_string(), "`0` is invalid for `event-queue`: expected a whole number from 1");
//! # Ok::<(), pointwork_core::limits::LimitError>(())
//! ```

use std::fmt;
use std::mem::discriminant;
use std::time::Duration;

/// A limit: one field of a struct of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// The struct of options, such as `BusOptions`.
    pub group: &'static str,
    /// The field of the struct, such as `payload_limit`.
    pub field: &'static str,
    /// The name in configuration files and in messages, such as `payload`. Fields of one name are set together.
    pub name: &'static str,
    /// Whether `pointwork.toml` can set the limit. The others can be set in a program only.
    pub configurable: bool,
    /// The default; `None` if there is no limit by default.
    pub default: Option<Amount>,
    /// The smallest amount that is valid. The limit has the same unit.
    pub min: Amount,
    /// The largest amount that is valid.
    pub max: Amount,
    /// The documentation of the field, as Markdown.
    pub doc: &'static str,
}

/// The longest time: 100 years of 365.25 days. The clock has room for it.
const LONGEST: Duration = Duration::from_hours(100 * 8_766);

/// The amount of a limit, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A number of things.
    Count(u64),
    /// A time.
    Time(Duration),
}

/// A struct of options with limits.
pub trait Limits {
    /// Its limits, in the order of the fields.
    const TABLE: &'static [Limit];

    /// Sets the limit of this name.
    ///
    /// # Errors
    /// There is no limit of this name, or the amount has another unit or is out of bounds. The options are unchanged then.
    fn set(&mut self, name: &str, amount: Amount) -> Result<(), LimitError> {
        let limits = || Self::TABLE.iter().filter(|limit| limit.name == name);
        if limits().next().is_none() {
            return Err(LimitError(format!("there is no limit `{name}`")));
        }
        limits().try_for_each(|limit| limit.check(amount))?;
        limits().for_each(|limit| self.put(limit.field, amount));
        Ok(())
    }

    /// The amount of the limit of this name; `None` if there is no such limit, or if it is off.
    fn get(&self, name: &str) -> Option<Amount> {
        let limit = Self::TABLE.iter().find(|limit| limit.name == name)?;
        self.look(limit)
    }

    #[doc(hidden)]
    fn put(&mut self, field: &str, amount: Amount);

    #[doc(hidden)]
    fn look(&self, limit: &Limit) -> Option<Amount>;
}

impl Limit {
    /// Checks the unit and the bounds of an amount.
    ///
    /// # Errors
    /// The amount has another unit, or is out of bounds.
    pub fn check(&self, amount: Amount) -> Result<(), LimitError> {
        let same_unit = discriminant(&amount) == discriminant(&self.min);
        if same_unit && self.min <= amount && amount <= self.max {
            return Ok(());
        }
        Err(self.invalid(amount))
    }

    /// The error for a value that is not a valid amount of this limit.
    pub fn invalid(&self, value: impl fmt::Display) -> LimitError {
        let (name, expected) = (self.name, self.expected());
        LimitError(format!("`{value}` is invalid for `{name}`: expected {expected}"))
    }

    /// The values that are valid, in words.
    fn expected(&self) -> String {
        match (self.min, self.max) {
            (Amount::Bytes(_), _) => "a size, as in \"2MiB\", or a number of bytes".to_owned(),
            (Amount::Count(min), Amount::Count(u64::MAX)) => format!("a whole number from {min}"),
            (Amount::Count(min), max) => format!("a whole number from {min} to {max}"),
            (Amount::Time(_), _) => {
                "a time above 0 and up to 100 years with its unit, as in \"30s\" or \"1m 30s\"".to_owned()
            }
        }
    }

    #[doc(hidden)]
    pub const fn new(
        [group, field, name]: [&'static str; 3],
        doc: &'static str,
        configurable: bool,
        default: Option<Amount>,
        min: Amount,
        max: u64,
    ) -> Self {
        let max = match min {
            Amount::Bytes(_) => Amount::Bytes(max),
            Amount::Count(_) => Amount::Count(max),
            Amount::Time(_) => Amount::Time(LONGEST),
        };
        Self {
            group,
            field,
            name,
            configurable,
            default,
            min,
            max,
            doc,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(bytes) => {
                let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
                let whole = |(shift, _): &(u32, _)| bytes != 0 && bytes.is_multiple_of(1 << shift);
                match units.into_iter().find(whole) {
                    Some((shift, unit)) => write!(f, "{} {unit}", bytes >> shift),
                    None => write!(f, "{bytes} B"),
                }
            }
            Self::Count(count) => count.fmt(f),
            Self::Time(time) if time.subsec_nanos() == 0 => write!(f, "{} s", time.as_secs()),
            Self::Time(time) if time.subsec_nanos() % 1_000_000 == 0 => write!(f, "{} ms", time.as_millis()),
            Self::Time(time) => write!(f, "{} ns", time.as_nanos()),
        }
    }
}

/// A limit that cannot be set. The message names the limit, the value and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitError(String);

/// The type of a field that is a limit.
#[doc(hidden)]
pub trait Field {
    /// The largest whole number that fits.
    const MAX: u64;

    /// Takes an amount that was checked.
    fn put(&mut self, amount: Amount);

    /// The amount, in the unit of `like`.
    fn look(&self, like: Amount) -> Option<Amount>;
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {$(
        impl Field for $number {
            const MAX: u64 = <$number>::MAX as u64;

            fn put(&mut self, amount: Amount) {
                if let Amount::Bytes(number) | Amount::Count(number) = amount {
                    *self = number.try_into().unwrap_or(Self::MAX);
                }
            }

            fn look(&self, like: Amount) -> Option<Amount> {
                let number = u64::try_from(*self).unwrap_or(u64::MAX);
                Some(match like {
                    Amount::Bytes(_) => Amount::Bytes(number),
                    _ => Amount::Count(number),
                })
            }
        }
    )*};
}

whole_numbers!(u16 u32 u64 usize);

impl Field for Duration {
    const MAX: u64 = u64::MAX;

    fn put(&mut self, amount: Amount) {
        if let Amount::Time(time) = amount {
            *self = time;
        }
    }

    fn look(&self, _: Amount) -> Option<Amount> {
        Some(Amount::Time(*self))
    }
}

impl<T: Field + Default> Field for Option<T> {
    const MAX: u64 = T::MAX;

    fn put(&mut self, amount: Amount) {
        self.get_or_insert_default().put(amount);
    }

    fn look(&self, like: Amount) -> Option<Amount> {
        self.as_ref()?.look(like)
    }
}

/// Defines a struct of options with limits.
///
/// A limit is a line `field: Type = unit(default) as "name";`, where the unit is `bytes`, `count` or `time`, and the default
/// has a suffix (`64 MiB`, `10 s`) or is `none`. `count(8) >= 1` excludes 0; a time is always above 0; the largest value
/// is that of the type. `in_program` at the end keeps the limit out of configuration files. Fields that are not limits
/// follow in a second block, with their defaults.
///
/// The struct is made with `new`, and each field has a setter. That of an `Option` takes the value itself, and `None` too
/// if the field has a default that `None` turns off.
#[doc(hidden)]
#[macro_export]
macro_rules! limits {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident : $type:ident $(<$inner:ident>)? =
                    $unit:ident($default:tt $($suffix:ident)?) $(>= $min:literal)? as $limit:literal $($place:ident)?;
            )*
        } $(and {
            $( $(#[$other_meta:meta])* $other:ident : $other_type:ident $(<$other_inner:ident>)? = $value:expr; )*
        })?
    ) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[doc = ""]
                #[doc = concat!($crate::limits!(@unit $unit), "Default: ", stringify!($default) $(, " ", stringify!($suffix))?, ".")]
                pub $field: $type $(<$inner>)?,
            )*
            $($( $(#[$other_meta])* pub $other: $other_type $(<$other_inner>)?, )*)?
        }

        impl $name {
            /// The defaults.
            pub fn new() -> Self {
                Self::default()
            }

            $( $crate::limits! { @limit $field $type $($inner)?, $default } )*
            $($( $crate::limits! { @other $other $other_type $($other_inner)? } )*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $field: $crate::limits!(@value $unit $default $($suffix)?), )*
                    $($( $other: $value, )*)?
                }
            }
        }

        impl $crate::limits::Limits for $name {
            const TABLE: &'static [$crate::limits::Limit] = &[$(
                $crate::limits::Limit::new(
                    [stringify!($name), stringify!($field), $limit],
                    concat!($($doc, "\n"),*),
                    $crate::limits!(@configurable $($place)?),
                    $crate::limits!(@default $unit $default $($suffix)?),
                    $crate::limits!(@min $unit $($min)?),
                    <$type $(<$inner>)? as $crate::limits::Field>::MAX,
                ),
            )*];

            fn put(&mut self, field: &str, amount: $crate::limits::Amount) {
                match field {
                    $( stringify!($field) => $crate::limits::Field::put(&mut self.$field, amount), )*
                    _ => {}
                }
            }

            fn look(&self, limit: &$crate::limits::Limit) -> Option<$crate::limits::Amount> {
                match limit.field {
                    $( stringify!($field) => $crate::limits::Field::look(&self.$field, limit.min), )*
                    _ => None,
                }
            }
        }
    };

    (@limit $field:ident Option $inner:ident, none) => {
        $crate::limits! { @setter $field(value: $inner) => Some(value) }
    };
    (@limit $field:ident Option $inner:ident, $default:tt) => {
        $crate::limits! { @setter $field(value: impl Into<Option<$inner>>) => value.into() }
    };
    (@limit $field:ident $type:ident, $default:tt) => {
        $crate::limits! { @setter $field(value: $type) => value }
    };
    (@other $field:ident Option $inner:ident) => {
        $crate::limits! { @setter $field(value: impl Into<$inner>) => Some(value.into()) }
    };
    (@other $field:ident Vec $inner:ident) => {
        $crate::limits! { @setter $field(value: impl IntoIterator<Item = $inner>) => value.into_iter().collect() }
    };
    (@other $field:ident $type:ident) => {
        $crate::limits! { @setter $field(value: $type) => value }
    };
    (@setter $field:ident($value:ident: $type:ty) => $new:expr) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $value: $type) -> Self {
            self.$field = $new;
            self
        }
    };

    (@unit bytes) => { "In bytes. " };
    (@unit $unit:ident) => { "" };

    (@configurable) => { true };
    (@configurable in_program) => { false };

    (@value $unit:ident none) => { None };
    (@value bytes $number:literal KiB) => { $number << 10 };
    (@value bytes $number:literal MiB) => { $number << 20 };
    (@value bytes $number:literal GiB) => { $number << 30 };
    (@value count $number:literal) => { $number };
    (@value time $($time:tt)*) => { $crate::limits!(@time $($time)*).into() };

    (@default $unit:ident none) => { None };
    (@default bytes $($size:tt)*) => { Some($crate::limits::Amount::Bytes($crate::limits!(@value bytes $($size)*))) };
    (@default count $number:literal) => { Some($crate::limits::Amount::Count($number)) };
    (@default time $($time:tt)*) => { Some($crate::limits::Amount::Time($crate::limits!(@time $($time)*))) };

    (@time $number:literal ms) => { std::time::Duration::from_millis($number) };
    (@time $number:literal s) => { std::time::Duration::from_secs($number) };

    (@min time) => { $crate::limits::Amount::Time(std::time::Duration::from_nanos(1)) };
    (@min bytes) => { $crate::limits::Amount::Bytes(0) };
    (@min count) => { $crate::limits::Amount::Count(0) };
    (@min count $min:literal) => { $crate::limits::Amount::Count($min) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BusOptions, Http2Options, RouterOptions, ServerOptions};

    fn check<T: Limits + Default>() {
        let options = T::default();
        for limit in T::TABLE {
            assert_eq!(options.look(limit), limit.default, "{}::{}", limit.group, limit.field);
            assert!(limit.doc.ends_with(".\n"), "{}::{}", limit.group, limit.field);
        }
    }

    #[test]
    fn table_has_the_defaults_of_the_fields() {
        check::<BusOptions>();
        check::<RouterOptions>();
        check::<ServerOptions>();
        check::<Http2Options>();
        assert_eq!(ServerOptions::default().max_headers, ServerOptions::DEFAULT_MAX_HEADERS);
    }

    #[test]
    fn amounts_are_shown_with_the_largest_whole_unit() {
        for (amount, shown) in [
            (Amount::Bytes(0), "0 B"),
            (Amount::Bytes(1000), "1000 B"),
            (Amount::Bytes(64 << 10), "64 KiB"),
            (Amount::Bytes(2 << 30), "2 GiB"),
            (Amount::Count(7), "7"),
            (Amount::Time(Duration::from_secs(90)), "90 s"),
            (Amount::Time(Duration::from_millis(1500)), "1500 ms"),
            (Amount::Time(Duration::from_nanos(1)), "1 ns"),
        ] {
            assert_eq!(amount.to_string(), shown);
        }
    }

    #[test]
    fn amount_of_another_unit_or_name_changes_nothing() {
        let mut options = RouterOptions::new();
        let error = options.set("body", Amount::Count(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`1` is invalid for `body`: expected a size, as in \"2MiB\", or a number of bytes"
        );
        let error = options.set("bodi", Amount::Bytes(1)).unwrap_err();
        assert_eq!(error.to_string(), "there is no limit `bodi`");
        assert_eq!(options.get("body"), Some(Amount::Bytes(2 << 20)));
        assert_eq!(options.get("bodi"), None);
    }

    #[test]
    fn a_setter_takes_the_value_or_none() {
        let options = ServerOptions::new()
            .header_timeout(Duration::from_secs(5))
            .write_timeout(None);
        assert_eq!(options.header_timeout, Some(Duration::from_secs(5)));
        assert_eq!(options.write_timeout, None);
    }

    #[test]
    fn fields_of_one_name_are_set_together() {
        let (mut options, amount) = (ServerOptions::new(), Duration::from_secs(1));
        options.set("header-timeout", Amount::Time(amount)).unwrap();
        assert_eq!(
            (options.first_byte_timeout, options.header_timeout),
            (Some(amount), Some(amount))
        );
    }
}
