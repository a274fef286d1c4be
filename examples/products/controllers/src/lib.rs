//! The controllers of a shop catalogue.
//!
//! Instances of a module come and go, so the controllers keep nothing: what the shop knows is behind the events in
//! [`events`], which `pointwork.toml` ties to statements on a database.

pub mod events;
mod health;
mod model;
mod products;

pub use health::Health;
pub use model::{Change, Fields, NewProduct, Page, Product, Size, Views};
pub use products::Products;

pointwork_guest::module! { Products, Health }
