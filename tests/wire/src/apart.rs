//! A server in a process of its own, so that its memory can be measured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pointwork_core::{Context, Route, ServerOptions};

use crate::{ADAPTERS, On, Server, block_on, route, routes};

/// With this variable the test binary is that process; its value is the name of the adapter.
const VARIABLE: &str = "POINTWORK_WIRE_SERVER";

/// The running process. It is killed on drop.
pub(crate) struct ServerApart {
    pub(crate) address: SocketAddr,
    process: Child,
    began_with: u64,
}

impl ServerApart {
    /// Serves the usual routes and [`held`] with the default options.
    ///
    /// # Panics
    /// If the process does not start.
    pub(crate) fn start(on: On) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("the path of this binary"))
            .env(VARIABLE, on.name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut line = String::new();
        let output = process.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let mut server = Self {
            address: line.trim().parse().expect("an address"),
            process,
            began_with: 0,
        };
        server.began_with = server.memory("VmRSS");
        server
    }

    /// The most memory that the process had at any time, beyond what it began with, in bytes; 0 where the system does not
    /// tell.
    pub(crate) fn growth(&self) -> u64 {
        self.memory("VmHWM").saturating_sub(self.began_with)
    }

    fn memory(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }
}

impl Drop for ServerApart {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs as such a process, if this is one, until the parent is gone.
pub(crate) fn serve() -> Option<ExitCode> {
    let name = std::env::var(VARIABLE).ok()?;
    let on = ADAPTERS
        .into_iter()
        .find(|on| on.name == name)
        .expect("an adapter's name");
    // Its own thread, since the server may not end.
    std::thread::spawn(move || {
        block_on(async move {
            let server = Server::with(on, ServerOptions::new(), [routes(), held()].concat()).await;
            let _ = writeln!(std::io::stdout(), "{}", server.address);
            let _ = server.serving.await;
        });
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Some(ExitCode::SUCCESS)
}

/// `/held`, whose handler never replies, and `/most`, which tells how many of them ran at the same time at most.
fn held() -> Vec<Route> {
    struct Running(Arc<AtomicUsize>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tells = most.clone();
    vec![
        route("ALL", "/held", move |_: Context| {
            most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
            let running = Running(now.clone());
            async move {
                std::future::pending::<()>().await;
                drop(running);
            }
        }),
        route("GET", "/most", move |_: Context| {
            let most = tells.load(Relaxed).to_string();
            async move { most }
        }),
    ]
}
