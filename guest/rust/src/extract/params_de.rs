//! Path parameters for serde.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{self, Deserializer, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// Why parameters are not a value of the type.
#[derive(Debug)]
pub(super) enum Misfit {
    /// A value of the client, with what was expected.
    Value(String),
    /// The type has other parameters than the path.
    Shape(String),
}

impl Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Value(message) | Self::Shape(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Shape(format!("invalid type: {found}, expected {expected}"))
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::Shape(format!("invalid length {found}, expected {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Shape(format!("missing field `{field}`"))
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        Self::Shape(format!("unknown field `{field}`"))
    }
}

/// All parameters with their names, in the order of the path.
pub(super) struct ParamsDeserializer(pub(super) Vec<(String, String)>);

impl ParamsDeserializer {
    fn params(self) -> impl ExactSizeIterator<Item = Param> {
        self.0.into_iter().map(|(name, value)| Param { name, value })
    }

    /// The only parameter, for a type that is no tuple and no struct.
    fn only(self) -> Result<Param, Misfit> {
        let mut params = self.params();
        match (params.len(), params.next()) {
            (1, Some(param)) => Ok(param),
            (count, _) => Err(Misfit::invalid_length(count, &"one parameter")),
        }
    }
}

/// Passes functions on to the only parameter.
macro_rules! of_the_only_one {
    ($($function:ident)*) => {$(
        fn $function<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            self.only()?.$function(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for ParamsDeserializer {
    type Error = Misfit;

    of_the_only_one! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option
        deserialize_identifier
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_seq(SeqDeserializer::new(self.params()))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Misfit> {
        // A tuple would leave out what it has no place for.
        if self.0.len() > length {
            return Err(Misfit::invalid_length(self.0.len(), &visitor));
        }
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let named = self.params().map(|param| (param.name.clone(), param));
        visitor.visit_map(MapDeserializer::new(named))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_map(visitor)
    }
}

/// One parameter.
struct Param {
    name: String,
    value: String,
}

impl IntoDeserializer<'_, Misfit> for Param {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Param {
    fn misfit(name: &str, value: &str, error: impl Display) -> Misfit {
        Misfit::Value(format!("path parameter `{name}`: {error}, got `{value}`"))
    }

    fn parse<T: FromStr<Err: Display>>(&self) -> Result<T, Misfit> {
        let parsed = self.value.parse();
        parsed.map_err(|error| Self::misfit(&self.name, &self.value, error))
    }

    /// Reads the text. An error of the type is that of this parameter.
    fn text<T>(self, read: impl FnOnce(StringDeserializer<Misfit>) -> Result<T, Misfit>) -> Result<T, Misfit> {
        let Self { name, value } = self;
        read(value.clone().into_deserializer()).map_err(|error| Self::misfit(&name, &value, error))
    }
}

/// Functions that parse the text.
macro_rules! parsed {
    ($($function:ident $visit:ident)*) => {$(
        fn $function<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            let value = self.parse()?;
            self.text(|_| visitor.$visit(value))
        }
    )*};
}

impl<'de> Deserializer<'de> for Param {
    type Error = Misfit;

    parsed! {
        deserialize_bool visit_bool deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32
        deserialize_i64 visit_i64 deserialize_i128 visit_i128 deserialize_u8 visit_u8 deserialize_u16 visit_u16
        deserialize_u32 visit_u32 deserialize_u64 visit_u64 deserialize_u128 visit_u128 deserialize_f32 visit_f32
        deserialize_f64 visit_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.text(|text| text.deserialize_any(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.text(|text| text.deserialize_enum(name, variants, visitor))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
