//! The configuration of the module.

use crate::backend;
use crate::bindings::types::Property;
use crate::failure::Failure;

/// The variables that a module needs, read into the fields of a struct. Derive it, and name the struct in [`module!`](crate::module!):
///
/// ```
/// use pointwork_guest::{Variables, controller, module};
///
/// #[derive(Variables)]
/// struct Settings {
///     /// The token of the payment service.
///     payment_token: String,
///     #[variable(default = 20)]
///     page_size: u32,
///     #[variable(name = "SHOP_BANNER")]
///     banner: Option<String>,
/// }
///
/// struct Products;
///
/// #[controller("products")]
/// impl Products {
///     #[get]
///     fn list(settings: Settings) -> String {
///         format!("{} products on each page", settings.page_size)
///     }
/// }
///
/// module! { Products; variables: Settings }
/// # fn main() {}
/// ```
///
/// The variable of a field has its name in capitals, `PAYMENT_TOKEN`, or the one of `#[variable(name = "…")]`. A field is an
/// `Option`, or has `#[variable(default)]` or `#[variable(default = …)]`, if the variable may be missing. The type of a field
/// implements [`Variable`].
///
/// The configuration of the host gives the values:
///
/// ```toml
/// [module.variables]
/// PAYMENT_TOKEN = { env = "SHOP_TOKEN" }
/// PAGE_SIZE = "50"
/// ```
///
/// The manifest lists the variables of the struct in `module!`, and the host refuses a module whose variables are missing, or
/// do not fit the types of the fields. The values are constant for a version of a module. They are there
/// within a call; before the first call there are no variables. The variables are also those of `std::env::var`.
///
/// A handler takes the struct as an argument. Other code calls [`read`](Self::read).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the configuration of a module",
    note = "put `#[derive(Variables)]` on a struct with a field for each variable"
)]
pub trait Variables: Sized {
    #[doc(hidden)]
    const NEEDED: &'static [NeededVariable];

    /// Reads the variables.
    ///
    /// # Errors
    ///
    /// A variable is missing, or its value does not fit: the code is `invalid-variable`, the status 500, and the message names
    /// the variable and what was expected. The client gets a general sentence; the message is logged. The value is in neither.
    fn read() -> Result<Self, Failure>;
}

/// A type that a variable can have: `String`, `bool`, `char`, the whole numbers up to 64 bits, `f32` and `f64`, and `Option` of each.
///
/// ```
/// use pointwork_guest::Variable;
///
/// enum Currency {
///     Euro,
///     Yen,
/// }
///
/// impl Variable for Currency {
///     const EXPECTED: &'static str = "`EUR` or `JPY`";
///     const SCHEMA: &'static str = r#""type":"string","enum":["EUR","JPY"]"#;
///
///     fn from_text(text: &str) -> Option<Self> {
///         match text {
///             "EUR" => Some(Self::Euro),
///             "JPY" => Some(Self::Yen),
///             _ => None,
///         }
///     }
/// }
/// # assert!(matches!(Currency::from_text("EUR"), Some(Currency::Euro)));
/// # assert!(matches!(Currency::from_text("JPY"), Some(Currency::Yen)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a variable",
    label = "expected a string, a number, a truth value, or an `Option` of one",
    note = "implement `Variable` for it"
)]
pub trait Variable: Sized {
    /// The values in words, for errors.
    const EXPECTED: &'static str;
    /// The JSON schema of the value in the manifest, without the braces around it. When the host loads the module, it checks
    /// `integer` and `number` with `minimum` and `maximum`, `boolean`, and `string` with `minLength`, `maxLength` and `enum`. A
    /// value that passes and that [`from_text`](Self::from_text) does not read is an error in each request.
    const SCHEMA: &'static str = "\"type\":\"string\"";
    #[doc(hidden)]
    const IS_REQUIRED: bool = true;

    /// Reads the text; `None` if it does not fit.
    fn from_text(text: &str) -> Option<Self>;

    /// The value of a variable that is missing, if that is allowed.
    #[doc(hidden)]
    fn from_nothing() -> Option<Self> {
        None
    }
}

impl Variable for String {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<T: Variable> Variable for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const SCHEMA: &'static str = T::SCHEMA;
    const IS_REQUIRED: bool = false;

    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }

    fn from_nothing() -> Option<Self> {
        Some(None)
    }
}

macro_rules! parsed {
    ($($type:ty: $expected:expr, $schema:expr $(, if $fits:expr)?;)*) => {$(
        impl Variable for $type {
            const EXPECTED: &'static str = $expected;
            const SCHEMA: &'static str = $schema;

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()$(.filter($fits))?
            }
        }
    )*};
}

macro_rules! whole_numbers {
    ($($type:ty: $minimum:literal to $maximum:literal;)*) => {
        parsed! {$(
            $type: concat!("a whole number from ", $minimum, " to ", $maximum),
                concat!("\"type\":\"integer\",\"minimum\":", $minimum, ",\"maximum\":", $maximum);
        )*}
    };
}

whole_numbers! {
    u8: 0 to 255;
    u16: 0 to 65535;
    u32: 0 to 4294967295;
    u64: 0 to 18446744073709551615;
    i8: -128 to 127;
    i16: -32768 to 32767;
    i32: -2147483648 to 2147483647;
    i64: -9223372036854775808 to 9223372036854775807;
    // As in a module.
    usize: 0 to 4294967295;
    isize: -2147483648 to 2147483647;
}

parsed! {
    bool: "`true` or `false`", "\"type\":\"boolean\"";
    char: "one character", "\"type\":\"string\",\"minLength\":1,\"maxLength\":1";
    f32: "a number", "\"type\":\"number\",\"minimum\":-3.4028235e38,\"maximum\":3.4028235e38", if |number: &Self| number.is_finite();
    f64: "a number", "\"type\":\"number\"", if |number: &Self| number.is_finite();
}

/// A variable in the manifest.
#[doc(hidden)]
#[derive(Debug)]
pub struct NeededVariable {
    pub name: &'static str,
    pub is_required: bool,
    /// The keywords of its JSON schema.
    pub schema: &'static str,
    /// Its docs as a string of JSON; empty without docs.
    pub description: &'static str,
}

/// The variables of this call.
#[doc(hidden)]
#[derive(Debug)]
pub struct GivenVariables(Vec<Property>);

impl GivenVariables {
    pub fn read() -> Self {
        Self(backend::environment::variables())
    }

    /// The value of a variable.
    pub fn get<T: Variable>(&self, name: &str) -> Result<T, Failure> {
        match self.find(name)? {
            Some(value) => Ok(value),
            None => T::from_nothing().ok_or_else(|| Failure::invalid_variable(name, "is missing", T::EXPECTED)),
        }
    }

    /// The value of a variable that need not be there.
    pub fn get_or<T: Variable>(&self, name: &str, default: impl FnOnce() -> T) -> Result<T, Failure> {
        Ok(self.find(name)?.unwrap_or_else(default))
    }

    fn find<T: Variable>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(found) = self.0.iter().find(|property| property.name == name) else {
            return Ok(None);
        };
        match T::from_text(&found.value) {
            Some(value) => Ok(Some(value)),
            None => Err(Failure::invalid_variable(name, "does not fit", T::EXPECTED)),
        }
    }
}

/// The JSON schema of the variables, for the manifest.
#[cfg(any(target_arch = "wasm32", test))]
pub(crate) fn schema(needed: &[NeededVariable]) -> String {
    let mut properties = String::new();
    let mut required = String::new();
    // A name has no character that JSON escapes.
    for variable in needed {
        let separator = |text: &str| if text.is_empty() { "\"" } else { ",\"" };
        for part in [separator(&properties), variable.name, "\":{", variable.schema] {
            properties.push_str(part);
        }
        if !variable.description.is_empty() {
            properties.push_str(",\"description\":");
            properties.push_str(variable.description);
        }
        properties.push('}');
        if variable.is_required {
            for part in [separator(&required), variable.name, "\""] {
                required.push_str(part);
            }
        }
    }
    [
        "{\"type\":\"object\",\"properties\":{",
        &properties,
        "},\"required\":[",
        &required,
        "]}",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schema_is_json() {
        let needed = |name, is_required, schema, description| NeededVariable {
            name,
            is_required,
            schema,
            description,
        };
        let schema =
            |needed: &[NeededVariable]| serde_json::from_str::<serde_json::Value>(&schema(needed)).expect("JSON");
        let all = [
            needed("TOKEN", true, String::SCHEMA, "\"a \\\"token\\\"\""),
            needed("SIZE", true, u8::SCHEMA, ""),
            needed("RATE", false, <Option<f64>>::SCHEMA, ""),
        ];
        let expected = json!({
            "type": "object",
            "properties": {
                "TOKEN": { "type": "string", "description": "a \"token\"" },
                "SIZE": { "type": "integer", "minimum": 0, "maximum": 255 },
                "RATE": { "type": "number" },
            },
            "required": ["TOKEN", "SIZE"],
        });
        assert_eq!(schema(&all), expected);
        assert_eq!(
            schema(&[]),
            json!({ "type": "object", "properties": {}, "required": [] })
        );
    }
}
