//! A route as the application lists it.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// Where a route comes from (spec M3, M4).
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[display(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A module declared it while an adapter was attached.
    Decorator,
    /// The application registered it by hand.
    Manual,
    /// A module had declared it before the adapter attached, which then picked it up: the normal order.
    Replay,
}

/// One route, as [`App::routes`](https://docs.rs/pointwork) lists it (spec M3).
#[derive(Clone, Debug, Display, PartialEq, Eq, Serialize, Deserialize)]
#[display("{method} {path}")]
pub struct RouteRecord {
    /// The method, or `ALL`.
    pub method: String,
    /// The full pattern, prefix included.
    pub path: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The module that declared it.
    pub module: Option<String>,
    /// The controller that declared it.
    pub controller: Option<String>,
    /// The handler's name in its source.
    pub handler: Option<String>,
    /// The attached adapters that cannot serve its method (spec A3); empty for nearly every route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable_on: Vec<String>,
}
