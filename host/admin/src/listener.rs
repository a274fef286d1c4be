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
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, SocketFile),
}

/// A connection of either kind.
pub(crate) type Connection = Box<dyn Stream>;

/// What HTTP is spoken over.
pub(crate) trait Stream: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Stream for T {}

impl Listener {
    /// Listens on an address. Every request needs the token of [`AdminOptions::token`](crate::AdminOptions::token), which
    /// goes over the network as it is: use a loopback address, or put TLS in front.
    pub fn tcp(listener: TcpListener) -> Self {
        Self(Kind::Tcp(listener))
    }

    /// Listens on a Unix socket that its owner alone can open (mode 0600), within a tokio runtime. The folder has to be
    /// there.
    ///
    /// A socket that a process left behind is replaced. The file is removed when the endpoint ends or is dropped.
    ///
    /// # Errors
    /// [`InUse`](crate::ErrorKind::InUse) if a process listens there, [`Socket`](crate::ErrorKind::Socket) if there is another file or
    /// the socket cannot be made.
    #[cfg(unix)]
    pub fn unix(path: impl AsRef<Path>) -> Result<Self, Error> {
        let (listener, file) = socket::bind(path.as_ref())?;
        Ok(Self(Kind::Unix(listener, file)))
    }

    /// Unix sockets are there on Unix alone.
    ///
    /// # Errors
    /// [`Socket`](crate::ErrorKind::Socket), always.
    #[cfg(not(unix))]
    pub fn unix(path: impl AsRef<Path>) -> Result<Self, Error> {
        let message = format!("`{}`: this system has no Unix sockets", path.as_ref().display());
        Err(Error::new(crate::ErrorKind::Socket, message))
    }

    /// Whether everybody who can reach the machine can connect, so that a token has to tell who may.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.0, Kind::Tcp(_))
    }

    pub(crate) async fn accept(&self) -> io::Result<Connection> {
        match &self.0 {
            Kind::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(TokioIo::new(stream)))
            }
            #[cfg(unix)]
            Kind::Unix(listener, _) => {
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
            Kind::Tcp(listener) => match listener.local_addr() {
                Ok(address) => write!(f, "http://{address}"),
                Err(_) => f.write_str("an address that cannot be told"),
            },
            #[cfg(unix)]
            Kind::Unix(_, file) => file.path().display().fmt(f),
        }
    }
}
