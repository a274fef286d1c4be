//! Opening a listener, with errors that say what to do.

use std::fmt;
use std::io;

use pointwork_core::{Error, ErrorKind};
use tokio::net::{TcpListener, ToSocketAddrs};

use crate::adapter::Inner;

pub(crate) async fn bind(inner: &Inner, address: impl ToSocketAddrs + fmt::Display) -> Result<TcpListener, Error> {
    let name = address.to_string();
    TcpListener::bind(address).await.map_err(|cause| {
        let message = describe(&name, cause.kind());
        inner.report(format!("{message}: {cause}"));
        Error::new(ErrorKind::Adapter, message).with_source(cause)
    })
}

fn describe(name: &str, kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::AddrInUse => format!(
            "the address `{name}` is in use, expected a free one: stop the program that listens there, or choose another \
             port (port 0 picks a free one)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "the address `{name}` is not allowed to this user, expected one that is: ports below 1024 often need \
             privileges, choose a higher one"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "the address `{name}` is not of this machine, expected one of its own, such as `127.0.0.1` or `0.0.0.0`"
            )
        }
        io::ErrorKind::InvalidInput => {
            format!("the address `{name}` does not parse, expected a host and a port, such as `127.0.0.1:8080`")
        }
        _ => format!("the address `{name}` cannot be listened on"),
    }
}
