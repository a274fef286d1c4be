//! The part of an adapter's handle that all adapters share.

/// Writes the part of an adapter's handle that all adapters share: `new`, `with_options`, `bind`, `Default`, `Debug`, and
/// [`Transport`](crate::Transport) with the functions that are given here.
///
/// The handle is a struct with the field `state`, an `Arc` of an [`AdapterState`](crate::adapter::AdapterState); further
/// fields are given with their first value. The adapter's crate needs tokio with the feature `net`.
#[macro_export]
macro_rules! adapter_handle {
    (
        $Handle:ident { name: $name:literal $(, $field:ident: $first:expr)* }
        $($transport:tt)*
    ) => {
        impl $Handle {
            /// An adapter with the default options.
            pub fn new() -> Self {
                Self::with_options($crate::ServerOptions::new())
            }

            /// An adapter with these options.
            pub fn with_options(options: $crate::ServerOptions) -> Self {
                Self {
                    state: $crate::adapter::AdapterState::new($name, options),
                    $($field: $first,)*
                }
            }

            /// Opens a listener, for example on `127.0.0.1:8080`; port 0 picks a free one.
            ///
            /// # Errors
            /// [`Adapter`](pointwork_core::ErrorKind::Adapter) if the address is in use or cannot be listened on; the
            /// message names the address and the remedy. The failure is emitted as `server:crashed` too (spec E1),
            /// provided that the adapter is attached.
            pub async fn bind(
                &self,
                address: impl ::tokio::net::ToSocketAddrs + ::std::fmt::Display,
            ) -> ::std::result::Result<::tokio::net::TcpListener, $crate::Error> {
                let name = address.to_string();
                self.state.bound(&name, ::tokio::net::TcpListener::bind(address).await)
            }
        }

        impl ::std::default::Default for $Handle {
            fn default() -> Self {
                Self::new()
            }
        }

        impl ::std::fmt::Debug for $Handle {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_tuple(stringify!($Handle)).field(&self.state).finish()
            }
        }

        impl $crate::Transport for $Handle {
            fn name(&self) -> &'static str {
                self.state.name()
            }

            fn attach(
                &self,
                reporter: $crate::Reporter,
                prefix: $crate::routing::Pattern,
            ) -> ::std::result::Result<(), $crate::Error> {
                self.state.attach(reporter, prefix)
            }

            fn covers_path(&self, pattern: &$crate::routing::Pattern) -> bool {
                self.state.covers_path(pattern)
            }

            fn close(&self) {
                self.state.close();
            }

            $($transport)*
        }
    };
}
