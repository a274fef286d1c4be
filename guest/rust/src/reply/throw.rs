use std::error::Error;
use std::fmt;

/// An error that ends the request: the client gets the status and the JSON body `{"message": …}` (spec H4).
///
/// The usual error type of a handler, and what [`Context::throw`](crate::Context::throw) makes. Errors of your own
/// become one with a `From`:
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
    /// An error with a status of 400 to 599 (the host refuses any other) and a message that the client may read.
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

    /// What the client reads.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn bad_request(message: String) -> Self {
        Self { status: 400, message }
    }

    pub(crate) fn into_parts(self) -> (u16, String) {
        (self.status, self.message)
    }
}

impl fmt::Display for Throw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl Error for Throw {}
