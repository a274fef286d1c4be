//! The payloads and results of the events.

use serde::{Deserialize, Serialize};

/// A product of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    pub id: u64,
    /// The stock keeping unit, unique among the products.
    pub sku: String,
    pub name: String,
    pub price_cents: i64,
    pub description: String,
}

/// A product without an id, as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewProduct {
    pub sku: String,
    pub name: String,
    pub price_cents: i64,
    #[serde(default)]
    pub description: String,
}

/// A change of the product of that id; a field that is `None` is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub id: u64,
    pub sku: Option<String>,
    pub name: Option<String>,
    pub price_cents: Option<i64>,
    pub description: Option<String>,
}

/// A part of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub limit: u32,
    pub offset: u64,
}

/// A search for a text in names and descriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needle {
    pub text: String,
    pub limit: u32,
}

/// The size of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub products: u64,
}

/// The number of views of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Views {
    pub id: u64,
    pub views: u64,
}
