//! The setters of builders.

/// Defines the setters of a builder: `field(argument: Type) => value;`.
macro_rules! setters {
    ($( $(#[$doc:meta])* $field:ident($($argument:ident: $type:ty)?) => $value:expr; )*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(mut self $(, $argument: $type)?) -> Self {
            self.$field = $value;
            self
        }
    )*};
}

pub(crate) use setters;
