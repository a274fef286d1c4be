//! The tables in the file.

use catalogue::Product;
use redb::TableDefinition;

/// A product without its id: SKU, name, price in cents, description.
pub(crate) type Row = (&'static str, &'static str, i64, &'static str);

/// Products by their ids.
pub(crate) const PRODUCTS: TableDefinition<'_, u64, Row> = TableDefinition::new("products");

/// Ids by SKU, which is unique.
pub(crate) const SKUS: TableDefinition<'_, &str, u64> = TableDefinition::new("skus");

/// Numbers of views by product id. A product without views has no entry.
pub(crate) const VIEWS: TableDefinition<'_, u64, u64> = TableDefinition::new("views");

/// Converts a row.
pub(crate) fn product(id: u64, (sku, name, price_cents, description): (&str, &str, i64, &str)) -> Product {
    Product {
        id,
        sku: sku.to_owned(),
        name: name.to_owned(),
        price_cents,
        description: description.to_owned(),
    }
}
