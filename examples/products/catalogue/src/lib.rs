//! The events between the controllers of a shop and its database.
//!
//! Callers and listeners depend on this package, so neither compiles with a payload that the other does not expect. It
//! does not depend on HTTP or on a database.

pub mod events;
mod model;

pub use model::{Change, Needle, NewProduct, Product, Size, Views, Window};
