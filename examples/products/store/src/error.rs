//! Why the store did not do what it was asked.

use std::error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use redb::{DatabaseError, StorageError};

/// An error of the [`Store`](crate::Store).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or made.
    Open { path: PathBuf, source: Box<redb::Error> },
    /// The file is there, and what it holds is no whole store.
    Damaged { path: PathBuf, source: Box<redb::Error> },
    /// Another product has that SKU.
    Taken { sku: String },
    /// A price below nothing.
    Price { price_cents: i64 },
    /// No product has that id.
    Missing { id: u64 },
    /// Reading or writing failed; nothing was changed. The store has to be opened again.
    Storage { source: Box<redb::Error> },
}

impl Error {
    /// Why the file at `path` did not open.
    pub(crate) fn opening(path: &Path, error: DatabaseError) -> Self {
        let damaged = match &error {
            // What ends too early, or holds what no store does.
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

    /// Whether the store may be of no more use until it is opened again.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, .. } => write!(f, "the store `{}` does not open", path.display()),
            Self::Damaged { path, .. } => write!(
                f,
                "`{}` is damaged or no store; put a copy in its place, or move it away to begin anew",
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

/// redb has an error for each kind of step; here they all mean the same.
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
