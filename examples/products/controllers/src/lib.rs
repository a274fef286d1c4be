//! The controllers of a shop catalogue.
//!
//! Instances of a module come and go, so the controllers keep nothing: what the shop knows is behind the [`events`].
//! `pointwork.toml` ties them to statements on a database, `components.toml` to another component; the controllers cannot
//! tell.

mod health;
mod model;
mod products;

pub use catalogue::{Change, NewProduct, Product, Size, Views, events};
pub use health::Health;
pub use model::{Fields, Page};
pub use products::Products;

pointwork_guest::module! { Products, Health }
