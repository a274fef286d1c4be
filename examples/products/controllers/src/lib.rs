//! The controllers of a shop catalogue.
//!
//! Controllers have no state: all data is behind the [`events`]. In `pointwork.toml` their listeners are statements on
//! a database, in `components.toml` another component; the controllers are the same.

mod health;
mod model;
mod products;

pub use catalogue::{Change, NewProduct, Product, Size, Views, events};
pub use health::Health;
pub use model::{Fields, Page};
pub use products::Products;

use events::{OneProduct, UpdateProduct};

pointwork_guest::module! { Products, Health; uses: OneProduct, UpdateProduct }
