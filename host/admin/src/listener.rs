//! Where the endpoint listens.

use std::fmt;
use std::io;
use std::path::Path;

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::Error;
#[cfg(unix)]
use crate::socket::{self, SocketFile};

/// Where the endpoint listens: a Unix socket, or an address.
#[derive(Debug)]
pub struct Listener(ListenerKind);

#[derive(Debug)]
enum ListenerKind {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, SocketFile),
}

/// A connection of either kind.
pub(crate) type Connection = Box<dyn Stream>;

pub(crate) trait Stream: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Stream for T {}

impl Listener {
    /// Listens on an address. Every request needs the token of [`AdminOptions::token`](crate::AdminOptions::token). The
    /// token is not encrypted: use a loopback address, or put TLS in front.
    pub fn tcp(listener: TcpListener) -> Self {
        Self(ListenerKind::Tcp(listener))
    }

    /// Listens on a Unix socket that its owner alone can open (mode 0600), within a tokio runtime. The folder has to
    /// exist.
    ///
    /// A socket that a dead process left behind is replaced. The file is removed when the endpoint ends or is dropped.
    ///
    /// # Errors
    /// [`InUse`](crate::ErrorKind::InUse) if a process listens there, [`Socket`](crate::ErrorKind::Socket) if another file exists or
    /// the socket cannot be created.
    #[cfg(unix)]
    pub fn unix(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (listener, file) = socket::bind(path.as_ref())?;
        Ok(Self(ListenerKind::Unix(listener, file)))
    }

    /// Fails: this system has no Unix sockets.
    ///
    /// # Errors
    /// [`Socket`](crate::ErrorKind::Socket), always.
    #[cfg(not(unix))]
    pub fn unix(path: impl AsRef<Path>) -> Result<Self, Error> {
        let message = format!("`{}`: this system has no Unix sockets", path.as_ref().display());
        Err(Error::new(crate::ErrorKind::Socket, message))
    }

    /// Whether everybody who can reach the machine can connect, so that requests need a token.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.0, ListenerKind::Tcp(_))
    }

    pub(crate) async fn accept(&self) -> io::Result<Connection> {
        match &self.0 {
            ListenerKind::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(TokioIo::new(stream)))
            }
            #[cfg(unix)]
            ListenerKind::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok(Box::new(TokioIo::new(stream)))
            }
        }
    }
}

/// The address with its port, or the path of the socket.
impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ListenerKind::Tcp(listener) => match listener.local_addr() {
                Ok(address) => write!(f, "http://{address}"),
                Err(_) => f.write_str("an unknown address"),
            },
            #[cfg(unix)]
            ListenerKind::Unix(_, file) => file.path().display().fmt(f),
        }
    }
}
