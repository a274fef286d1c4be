//! Values that are written as text: paths, times, sizes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A path that stands before every route's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        pointwork::routing::Pattern::parse(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|error| format!("`{text}` is no prefix: {error}"))
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A time with its unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time(pub(super) Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, as in \"30s\" or \"1m 30s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                let time = humantime::parse_duration(text)
                    .map_err(|_| E::custom(format_args!("`{text}` is no time; expected {}", expected(&self))))?;
                if time.is_zero() {
                    return Err(E::custom(format_args!(
                        "`{text}` is no limit; expected {}",
                        expected(&self)
                    )));
                }
                Ok(Time(time))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

/// A number of bytes, with or without a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size(pub(super) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size, as in \"2MiB\", or a number of bytes")
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes)
                    .map(Size)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse::<ByteSize>()
                    .map(|size| Size(size.as_u64()))
                    .map_err(|_| E::custom(format_args!("`{text}` is no size; expected {}", expected(&self))))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

/// A number of things, one at least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count(pub(super) usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number above 0")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
                let count = usize::try_from(number).ok().filter(|count| *count > 0);
                count
                    .map(Count)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
                let count = usize::try_from(number).ok().filter(|count| *count > 0);
                count
                    .map(Count)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_any(Number)
    }
}

/// What a visitor expects, as text.
fn expected<'de>(visitor: &impl Visitor<'de>) -> String {
    (visitor as &dyn de::Expected).to_string()
}
