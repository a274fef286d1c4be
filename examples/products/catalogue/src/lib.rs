//! What the controllers of a shop and its database say to each other.
//!
//! Whoever calls an event and whoever listens to it depend on this package, so neither compiles with a payload that the
//! other does not expect. It knows nothing of HTTP and nothing of a database.

pub mod events;
mod model;

pub use model::{Change, Needle, NewProduct, Product, Size, Views, Window};
