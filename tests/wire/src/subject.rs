//! What the cases need of an adapter.

use std::future::Future;

use pointwork_core::{BoxFuture, Error, ServerOptions, Transport};
use tokio::net::TcpListener;

use crate::Differences;

/// An adapter under test.
///
/// It stands for the adapter's own type, which has the same functions; a test cannot implement a trait of this crate for
/// a type of another.
pub trait Subject: 'static {
    /// The adapter.
    type Adapter: Transport + Clone;

    /// In what it differs from the others, by its docs.
    const DIFFERENCES: Differences;

    /// An adapter with these options.
    fn adapter(options: ServerOptions) -> Self::Adapter;

    /// Its `bind`.
    fn bind(adapter: &Self::Adapter, address: String) -> impl Future<Output = Result<TcpListener, Error>>;

    /// Its `serve`, until the signal. Dropping the future cuts every connection.
    fn serve(adapter: &Self::Adapter, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}
