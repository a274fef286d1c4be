//! The event map: each event with the types of its payload and of its result.

use pointwork_events::events;

use crate::model::{Change, Needle, NewProduct, Product, Size, Views, Window};

events! {
    /// Products in the order of their ids.
    pub AllProducts = "db:product:all": Window => Vec<Product>;
    /// How many products there are.
    pub CountProducts = "db:product:count": () => Size;
    /// The product of that id.
    pub OneProduct = "db:product:one": u64 => Option<Product>;
    /// Products that hold a text.
    pub SearchProducts = "db:product:search": Needle => Vec<Product>;
    /// Adds a product and returns it with its id. Fails with `conflict` if there is one of that SKU.
    pub CreateProduct = "db:product:create": NewProduct => Product;
    /// Changes a product and returns it, if there is one of that id. Fails with `conflict` like `CreateProduct`.
    pub UpdateProduct = "db:product:update": Change => Option<Product>;
    /// Removes a product and returns how many there were, 0 or 1.
    pub DeleteProduct = "db:product:delete": u64 => u64;
    /// How often a product was looked at, if there is one of that id.
    pub ProductViews = "db:product:views": u64 => Option<Views>;
    /// Somebody looked at the product of that id. `product` is no channel, so this is the event's own name.
    pub ProductViewed = "product:viewed": u64;
    /// The channel `response` sends this text in the controller's stead.
    pub Send = "response:send": String;
}
