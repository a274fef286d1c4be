//! Errors of setting an endpoint up.

use pointwork_core::error_type;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An address has no token, or a text is not a token.
    Token,
    /// Another process listens on the socket.
    InUse,
    /// The socket cannot be created.
    Socket,
    /// The application refuses the listeners for its changes.
    App,
}

error_type! {
    /// An error of setting an endpoint up.
    pub struct Error(ErrorKind);
    pub(crate) fn
}
