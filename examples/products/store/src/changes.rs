//! The changes of one transaction, and the rules that they must keep.

use catalogue::{Change, NewProduct, Product};
use redb::{ReadableTable, ReadableTableMetadata, Table, WriteTransaction};

use crate::error::Error;
use crate::seed;
use crate::tables::{self, PRODUCTS, Row, SKUS, VIEWS};

/// The tables of one transaction. Nothing is written before it commits.
pub(crate) struct Changes<'a> {
    products: Table<'a, u64, Row>,
    skus: Table<'a, &'static str, u64>,
    views: Table<'a, u64, u64>,
}

impl<'a> Changes<'a> {
    /// Opens the tables, and creates missing ones.
    pub(crate) fn begin(transaction: &'a WriteTransaction) -> Result<Self, Error> {
        Ok(Self {
            products: transaction.open_table(PRODUCTS)?,
            skus: transaction.open_table(SKUS)?,
            views: transaction.open_table(VIEWS)?,
        })
    }

    /// Adds the first products, if there are none.
    pub(crate) fn seed(&mut self) -> Result<(), Error> {
        if !self.products.is_empty()? {
            return Ok(());
        }
        for (sku, name, price_cents, description) in seed::PRODUCTS {
            self.create(&NewProduct {
                sku: sku.to_owned(),
                name: name.to_owned(),
                price_cents,
                description: description.to_owned(),
            })?;
        }
        Ok(())
    }

    pub(crate) fn create(&mut self, new: &NewProduct) -> Result<Product, Error> {
        // As in SQLite without AUTOINCREMENT, the id of the last product is free again when the product is deleted.
        let id = self.products.last()?.map_or(1, |(last, _)| last.value() + 1);
        let product = Product {
            id,
            sku: new.sku.clone(),
            name: new.name.clone(),
            price_cents: new.price_cents,
            description: new.description.clone(),
        };
        self.put(&product)?;
        Ok(product)
    }

    pub(crate) fn update(&mut self, change: Change) -> Result<Option<Product>, Error> {
        let Some(before) = self.find(change.id)? else {
            return Ok(None);
        };
        self.skus.remove(before.sku.as_str())?;
        let product = Product {
            id: before.id,
            sku: change.sku.unwrap_or(before.sku),
            name: change.name.unwrap_or(before.name),
            price_cents: change.price_cents.unwrap_or(before.price_cents),
            description: change.description.unwrap_or(before.description),
        };
        self.put(&product)?;
        Ok(Some(product))
    }

    pub(crate) fn delete(&mut self, id: u64) -> Result<u64, Error> {
        let Some(product) = self.find(id)? else {
            return Ok(0);
        };
        self.products.remove(id)?;
        self.skus.remove(product.sku.as_str())?;
        self.views.remove(id)?;
        Ok(1)
    }

    pub(crate) fn viewed(&mut self, id: u64) -> Result<(), Error> {
        if self.products.get(id)?.is_none() {
            return Err(Error::Missing { id });
        }
        let views = self.views.get(id)?.map_or(0, |views| views.value());
        self.views.insert(id, views + 1)?;
        Ok(())
    }

    fn find(&self, id: u64) -> Result<Option<Product>, Error> {
        let row = self.products.get(id)?;
        Ok(row.map(|row| tables::product(id, row.value())))
    }

    /// Writes a product. Its former SKU must have been removed from the table.
    fn put(&mut self, product: &Product) -> Result<(), Error> {
        let Product {
            id,
            sku,
            name,
            price_cents,
            description,
        } = product;
        if *price_cents < 0 {
            return Err(Error::Price {
                price_cents: *price_cents,
            });
        }
        if self.skus.insert(sku.as_str(), id)?.is_some() {
            return Err(Error::Taken { sku: sku.clone() });
        }
        self.products
            .insert(id, (sku.as_str(), name.as_str(), *price_cents, description.as_str()))?;
        Ok(())
    }
}
