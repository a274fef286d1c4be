//! Values that are written as text: paths, times, sizes.

use std::fmt;
use std::marker::PhantomData;
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

/// A number of things, none included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<T>(pub(super) T);

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<T>(PhantomData<T>);

        impl<T: TryFrom<u64>> Visitor<'_> for Number<T> {
            type Value = Whole<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let bits = 8 * size_of::<T>();
                write!(f, "a whole number from 0, of {bits} bits at most")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole<T>, E> {
                let whole = u64::try_from(number).ok().and_then(|number| T::try_from(number).ok());
                whole
                    .map(Whole)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole<T>, E> {
                T::try_from(number)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_any(Number(PhantomData))
    }
}

/// The SHA-256 of a component, in hex, as `pointwork check` prints it: with `sha256:` before it or without.
#[derive(Debug, Clone)]
pub(super) struct Digest(pub(super) String);

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hex = text.strip_prefix("sha256:").unwrap_or(&text);
        if hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(hex.to_ascii_lowercase()));
        }
        Err(de::Error::custom(format_args!(
            "`{text}` is no SHA-256; expected 64 digits in hex, as `pointwork check` prints them"
        )))
    }
}

/// The path of a route, to be asked for.
#[derive(Debug, Clone)]
pub(super) struct Health(pub(super) String);

impl<'de> Deserialize<'de> for Health {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['?', '#']) {
            return Ok(Self(text));
        }
        Err(de::Error::custom(format_args!(
            "`{}` is no path of a request; expected one as in `/health`",
            text.escape_debug()
        )))
    }
}

/// What a visitor expects, as text.
fn expected<'de>(visitor: &impl Visitor<'de>) -> String {
    (visitor as &dyn de::Expected).to_string()
}
