//! The event map: each event with the types of its payload and of its result.

use pointwork_events::events;

use crate::model::{Change, Needle, NewProduct, Product, Size, Views, Window};

events! {
    /// Products in the order of their ids.
    pub AllProducts = "db:product:all": Window => Vec<Product>;
    /// The number of products.
    pub CountProducts = "db:product:count": () => Size;
    /// The product of that id.
    pub OneProduct = "db:product:one": u64 => Option<Product>;
    /// Products whose name or description contains a text.
    pub SearchProducts = "db:product:search": Needle => Vec<Product>;
    /// Adds a product and returns it with its id. Fails with `conflict` if another product has the SKU.
    pub CreateProduct = "db:product:create": NewProduct => Product;
    /// Changes the product of that id and returns it, if there is one. Fails with `conflict` like `CreateProduct`.
    pub UpdateProduct = "db:product:update": Change => Option<Product>;
    /// Removes a product and returns the number of products removed, 0 or 1.
    pub DeleteProduct = "db:product:delete": u64 => u64;
    /// The number of views of the product of that id, if there is one.
    pub ProductViews = "db:product:views": u64 => Option<Views>;
    /// The product of that id was viewed. No channel is named `product`, so this is the event's whole name.
    pub ProductViewed = "product:viewed": u64;
    /// The channel `response` replies with this text instead of the controller.
    pub Send = "response:send": String;
}
