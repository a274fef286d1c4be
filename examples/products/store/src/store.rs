//! The catalogue in a file, with one method for each event.

use std::path::Path;

use catalogue::{Change, Needle, NewProduct, Product, Size, Views, Window};
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use crate::changes::Changes;
use crate::error::Error;
use crate::tables::{self, PRODUCTS, Row, VIEWS};

/// The size of the cache. The default of redb is a gigabyte, more than the memory limit of a module.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

/// A catalogue in a file.
///
/// A change is on the disk, complete or not at all, when the method returns. Nothing needs to be closed: an instance
/// may be dropped or trap at any time.
///
/// Only one store may have the file open. WASI has no file locks, so nothing enforces this in a component.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

impl Store {
    /// Opens the catalogue in the file `path`, or creates it with a few products.
    ///
    /// Reads the whole file once, so that damage is found here and not during a request.
    ///
    /// # Errors
    ///
    /// [`Error::Open`] if the file cannot be opened or created, [`Error::Damaged`] if it is not a valid store,
    /// [`Error::Storage`] if the products cannot be written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .set_check_integrity_on_open(true)
            .create(path);
        let database = opened.map_err(|error| Error::opening(path, error))?;
        let store = Self { database };
        store.change(|changes| changes.seed())?;
        Ok(store)
    }

    /// Products in the order of their ids.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`].
    pub fn all(&self, window: Window) -> Result<Vec<Product>, Error> {
        let products = self.products()?;
        // A larger offset than `usize` is past the end of every catalogue.
        let offset = usize::try_from(window.offset).unwrap_or(usize::MAX);
        let rows = products.iter()?.skip(offset).take(count(window.limit));
        rows.map(|row| {
            row.map(|(id, row)| tables::product(id.value(), row.value()))
                .map_err(Error::from)
        })
        .collect()
    }

    /// The number of products.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn count(&self) -> Result<Size, Error> {
        Ok(Size {
            products: self.products()?.len()?,
        })
    }

    /// The product of that id.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn one(&self, id: u64) -> Result<Option<Product>, Error> {
        let row = self.products()?.get(id)?;
        Ok(row.map(|row| tables::product(id, row.value())))
    }

    /// Products whose name or description contains the text, in the order of their ids. As in SQLite, the search
    /// ignores the case of ASCII letters only. Every product contains the empty text.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn search(&self, needle: &Needle) -> Result<Vec<Product>, Error> {
        let text = needle.text.to_ascii_lowercase();
        let holds = |hay: &str| hay.to_ascii_lowercase().contains(&text);
        let mut found = Vec::new();
        for row in self.products()?.iter()? {
            if found.len() == count(needle.limit) {
                break;
            }
            let (id, row) = row?;
            let (_, name, _, description) = row.value();
            if holds(name) || holds(description) {
                found.push(tables::product(id.value(), row.value()));
            }
        }
        Ok(found)
    }

    /// Adds a product with the id after the largest one.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] if another product has the SKU, [`Error::Price`], [`Error::Storage`].
    pub fn create(&self, new: &NewProduct) -> Result<Product, Error> {
        self.change(|changes| changes.create(new))
    }

    /// Changes the product of that id and returns it, if there is one.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn update(&self, change: Change) -> Result<Option<Product>, Error> {
        self.change(|changes| changes.update(change))
    }

    /// Removes a product with its views, and returns the number of products removed, 0 or 1.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn delete(&self, id: u64) -> Result<u64, Error> {
        self.change(|changes| changes.delete(id))
    }

    /// Counts a view of the product of that id.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if there is no such product, [`Error::Storage`].
    pub fn viewed(&self, id: u64) -> Result<(), Error> {
        self.change(|changes| changes.viewed(id))
    }

    /// The number of views of the product of that id, if there is one.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn views(&self, id: u64) -> Result<Option<Views>, Error> {
        let transaction = self.database.begin_read()?;
        if transaction.open_table(PRODUCTS)?.get(id)?.is_none() {
            return Ok(None);
        }
        let views = transaction.open_table(VIEWS)?.get(id)?;
        Ok(Some(Views {
            id,
            views: views.map_or(0, |views| views.value()),
        }))
    }

    /// A snapshot of the products.
    fn products(&self) -> Result<ReadOnlyTable<u64, Row>, Error> {
        Ok(self.database.begin_read()?.open_table(PRODUCTS)?)
    }

    /// Runs `work` as one transaction. If it fails, nothing is changed.
    fn change<T>(&self, work: impl FnOnce(&mut Changes<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let transaction = self.database.begin_write()?;
        let result = work(&mut Changes::begin(&transaction)?)?;
        transaction.commit()?;
        Ok(result)
    }
}

/// A limit as a number of elements. A `u32` fits on all supported targets.
fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
