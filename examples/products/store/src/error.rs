//! The errors of the store.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use redb::{DatabaseError, StorageError};

/// An error of the [`Store`](crate::Store).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or created.
    Open { path: PathBuf, source: Box<redb::Error> },
    /// The file exists, but is damaged or not a store.
    Damaged { path: PathBuf, source: Box<redb::Error> },
    /// Another product has that SKU.
    Taken { sku: String },
    /// The price is negative.
    Price { price_cents: i64 },
    /// No product has that id.
    Missing { id: u64 },
    /// Reading or writing failed, and nothing was changed. The store must be opened again.
    Storage { source: Box<redb::Error> },
}

impl Error {
    /// The error of opening the file at `path`.
    pub(crate) fn opening(path: &Path, error: DatabaseError) -> Self {
        let damaged = match &error {
            // The file is too short or has invalid contents.
            DatabaseError::Storage(StorageError::Io(error)) => {
                matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
            }
            DatabaseError::Storage(StorageError::Corrupted(_)) => true,
            _ => false,
        };
        let (path, source) = (path.to_owned(), Box::new(error.into()));
        if damaged {
            Self::Damaged { path, source }
        } else {
            Self::Open { path, source }
        }
    }

    /// Whether the store must be opened again.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, .. } => write!(f, "the store `{}` cannot be opened", path.display()),
            Self::Damaged { path, .. } => write!(
                f,
                "`{}` is damaged or not a store; replace it with a copy, or move it away to start with a new store",
                path.display()
            ),
            Self::Taken { sku } => write!(f, "another product has the SKU `{sku}`"),
            Self::Price { price_cents } => write!(f, "`price_cents` must be 0 or more, got {price_cents}"),
            Self::Missing { id } => write!(f, "no product has the id {id}"),
            Self::Storage { .. } => f.write_str("the store cannot be read or written"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Damaged { source, .. } | Self::Storage { source } => Some(source),
            Self::Taken { .. } | Self::Price { .. } | Self::Missing { .. } => None,
        }
    }
}

/// redb has an error type for each step of an access; all of them become `Error::Storage`.
macro_rules! storage {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for Error {
            fn from(error: redb::$error) -> Self {
                Self::Storage { source: Box::new(error.into()) }
            }
        }
    )*};
}

storage! { CommitError StorageError TableError TransactionError }
