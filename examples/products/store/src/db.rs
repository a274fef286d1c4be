//! The channel `db`

use std::cell::RefCell;
use std::env;
use std::path::PathBuf;

use catalogue::events::{
    AllProducts, CountProducts, CreateProduct, DeleteProduct, OneProduct, ProductViewed, ProductViews, SearchProducts,
    UpdateProduct,
};
use catalogue::{Change, Needle, NewProduct, Product, Size, Views, Window};
use pointwork_guest::{Failure, HttpStatus, channel, log};

use crate::error::Error;
use crate::store::Store;

thread_local! {
    /// Opened by the first event, not with the instance: the host also makes an instance only to read the channels, and
    /// that one must not open the file.
    static STORE: RefCell<Option<Store>> = const { RefCell::new(None) };
}

/// The catalogue, in the file `catalogue.redb` of the directory `STORE_DIR`, or of `/data` if that is not set.
pub struct Db;

#[channel("db")]
impl Db {
    #[on(AllProducts)]
    fn all(window: Window) -> Result<Vec<Product>, Failure> {
        with_store(|store| store.all(window))
    }

    #[on(CountProducts)]
    fn count() -> Result<Size, Failure> {
        with_store(Store::count)
    }

    #[on(OneProduct)]
    fn one(id: u64) -> Result<Option<Product>, Failure> {
        with_store(|store| store.one(id))
    }

    #[on(SearchProducts)]
    fn search(needle: Needle) -> Result<Vec<Product>, Failure> {
        with_store(|store| store.search(&needle))
    }

    #[on(CreateProduct)]
    fn create(new: NewProduct) -> Result<Product, Failure> {
        with_store(|store| store.create(&new))
    }

    #[on(UpdateProduct)]
    fn update(change: Change) -> Result<Option<Product>, Failure> {
        with_store(|store| store.update(change))
    }

    #[on(DeleteProduct)]
    fn delete(id: u64) -> Result<u64, Failure> {
        with_store(|store| store.delete(id))
    }

    /// The event's whole name is `product:viewed`. No channel is named `product`, so the host looks in all channels.
    #[on(ProductViewed)]
    fn viewed(id: u64) -> Result<(), Failure> {
        with_store(|store| store.viewed(id))
    }

    #[on(ProductViews)]
    fn views(id: u64) -> Result<Option<Views>, Failure> {
        with_store(|store| store.views(id))
    }
}

/// Runs `work` with the store, and opens the store first if necessary.
fn with_store<T>(work: impl FnOnce(&Store) -> Result<T, Error>) -> Result<T, Failure> {
    STORE.with_borrow_mut(|slot| {
        let store = match slot {
            Some(store) => store,
            None => slot.insert(Store::open(&path()).map_err(failure)?),
        };
        let result = work(store);
        if result.as_ref().is_err_and(Error::is_storage) {
            // After a failed write redb refuses every access, so the next event opens the store again.
            *slot = None;
        }
        result.map_err(failure)
    })
}

fn path() -> PathBuf {
    let folder = env::var_os("STORE_DIR").unwrap_or_else(|| "/data".into());
    PathBuf::from(folder).join("catalogue.redb")
}

/// The failure for the caller, with the codes and statuses of the driver `sqlite`.
fn failure(error: Error) -> Failure {
    match error {
        Error::Taken { .. } | Error::Missing { .. } => {
            Failure::with_code("conflict", HttpStatus::CONFLICT, error.to_string())
        }
        Error::Price { .. } => Failure::with_code("bad-payload", HttpStatus::BAD_REQUEST, error.to_string()),
        Error::Open { .. } | Error::Damaged { .. } | Error::Storage { .. } => {
            // Clients must not see the path.
            log::error!("{}", with_sources(&error));
            Failure::new(HttpStatus::INTERNAL_SERVER_ERROR, "the database could not do it")
        }
    }
}

/// The error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
