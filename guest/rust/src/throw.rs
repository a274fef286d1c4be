use std::error::Error;
use std::fmt;

use crate::bindings::types;

/// An error that ends the request: the client gets the status and the JSON body `{"message": …}` (spec H4).
///
/// It is the usual error type of a handler; [`Context::throw`](crate::Context::throw) makes one. Implement `From` to
/// convert errors of your own:
///
/// ```
/// use pointwork_guest::{HttpStatus, Throw};
///
/// struct OutOfStock {
///     product: String,
/// }
///
/// impl From<OutOfStock> for Throw {
///     fn from(error: OutOfStock) -> Self {
///         Throw::new(HttpStatus::CONFLICT, format!("`{}` is out of stock", error.product))
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it ends the request only if the handler returns it"]
pub struct Throw {
    status: u16,
    message: String,
}

impl Throw {
    /// An error with a status of 400 to 599 (the host refuses any other) and a message for the client.
    pub fn new(status: impl Into<u16>, message: impl Into<String>) -> Self {
        Self {
            status: status.into(),
            message: message.into(),
        }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<Throw> for types::Thrown {
    fn from(throw: Throw) -> Self {
        Self {
            status: throw.status,
            message: throw.message,
        }
    }
}

impl fmt::Display for Throw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl Error for Throw {}
