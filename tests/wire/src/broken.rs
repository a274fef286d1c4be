//! Adapters with one fault each, which prove that the cases can fail.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{BoxFuture, Error, Reporter, Router, ServerOptions, Staged, Transport};
use pointwork_hyper::Hyper;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::adapters::{Adapter, On};

/// A fault, the case that has to detect it, and the expected text of the failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken {
    /// The name of the broken adapter, which describes its fault.
    pub(crate) on: On,
    /// The case that detects the fault.
    pub(crate) caught_by: &'static str,
    /// Text that the case's failure contains.
    pub(crate) saying: &'static str,
}

/// All broken adapters.
pub(crate) const ALL: [Broken; 2] = [
    Broken {
        on: On {
            name: "keeps_one_length_of_two",
            open: |options| Arc::new(Rewriting::new(options, keep_one_length)),
        },
        caught_by: "smuggling::a_second_content_length_is_refused",
        saying: "the connection brought `HTTP/1.1 200 OK",
    },
    Broken {
        on: On {
            name: "drops_control_bytes",
            open: |options| Arc::new(Rewriting::new(options, drop_controls)),
        },
        caught_by: "smuggling::control_bytes_in_a_head_are_refused",
        saying: "the connection brought `HTTP/1.1 200 OK",
    },
];

/// Rewrites the lines of a head on their way to a sound adapter.
type Rewrite = fn(Vec<String>) -> Vec<String>;

/// A sound adapter behind a proxy that rewrites the first head of each connection.
struct Rewriting {
    sound: Hyper,
    rewrite: Rewrite,
}

impl Rewriting {
    fn new(options: ServerOptions, rewrite: Rewrite) -> Self {
        let sound = Hyper::with_options(options);
        Self { sound, rewrite }
    }
}

impl Transport for Rewriting {
    fn name(&self) -> &'static str {
        self.sound.name()
    }

    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error> {
        self.sound.attach(reporter, prefix)
    }

    fn close(&self) {
        self.sound.close();
    }

    fn supports_method(&self, method: &MethodFilter) -> bool {
        self.sound.supports_method(method)
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        self.sound.stage(router)
    }
}

impl Adapter for Rewriting {
    fn bind(&self, address: String) -> BoxFuture<'_, Result<TcpListener, Error>> {
        Adapter::bind(&self.sound, address)
    }

    fn serve(&self, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        let (sound, rewrite) = (self.sound.clone(), self.rewrite);
        Box::pin(async move {
            let back = sound.bind("127.0.0.1:0").await.expect("a free port");
            let address = back.local_addr().expect("an address");
            let proxy = async {
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(forward(client, address, rewrite));
                }
            };
            let serving = Adapter::serve(&sound, back, signal);
            futures_util::future::select(Box::pin(proxy), serving).await;
        })
    }
}

async fn forward(mut client: TcpStream, back: SocketAddr, rewrite: Rewrite) -> io::Result<()> {
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if client.read_buf(&mut read).await? == 0 {
            break read.len();
        }
    };
    let head = String::from_utf8_lossy(&read[..end]);
    let head = rewrite(head.split("\r\n").map(str::to_owned).collect()).join("\r\n");
    let mut server = TcpStream::connect(back).await?;
    server.write_all(head.as_bytes()).await?;
    server.write_all(&read[end..]).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

fn keep_one_length(mut head: Vec<String>) -> Vec<String> {
    let mut seen = false;
    head.retain(|line| {
        let length = line.to_lowercase().starts_with("content-length:");
        let repeated = length && seen;
        seen |= length;
        !repeated
    });
    head
}

fn drop_controls(head: Vec<String>) -> Vec<String> {
    let without = |line: String| line.chars().filter(|character| !character.is_control()).collect();
    head.into_iter().map(without).collect()
}
