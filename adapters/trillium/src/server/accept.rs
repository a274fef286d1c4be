//! The begin of a connection.

use std::convert::Infallible;
use std::future::poll_fn;
use std::task::{Poll, ready};

use pointwork_core::Protocols;
use trillium_server_common::Acceptor;

use super::connections::Phase;
use super::io::{Io, Protocol};
use super::runtime::set_connection;

/// Waits for the first byte, for which trillium itself would wait without an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin;

impl Acceptor<Io> for Begin {
    type Output = Io;
    type Error = Infallible;

    async fn accept(&self, mut io: Io) -> Result<Io, Infallible> {
        io.protocol = protocol(&mut io).await;
        if io.protocol == Protocol::Http2 {
            set_connection(&io.link);
        }
        Ok(io)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

async fn protocol(io: &mut Io) -> Protocol {
    let (server, link) = (io.server.clone(), io.link.clone());
    let options = &server.options;
    io.alarm.set(options.first_byte_timeout);
    poll_fn(|cx| {
        let mut receiver = link.lock();
        // A shutdown ends it too: there is no request in flight.
        if link.phase(cx) != Phase::Serving || io.alarm.poll(cx).is_ready() {
            return Poll::Ready(Protocol::None);
        }
        ready!(receiver.poll_fill(cx));
        if receiver.ended {
            return Poll::Ready(Protocol::None);
        }
        io.alarm.set(options.header_timeout);
        Poll::Ready(match options.protocols {
            // Where one bad method ends all requests of a connection, it is not for everybody.
            Protocols::Http2 => Protocol::Http2,
            _ => Protocol::Http1,
        })
    })
    .await
}
