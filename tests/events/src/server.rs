//! A server of NATS with JetStream on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;
use pointwork_test_clock::real::until_blocking;
use tempfile::TempDir;

/// Killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    process: Mutex<Child>,
    port: u16,
}

impl Server {
    /// A server on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If it cannot be installed, or does not start.
    pub fn start() -> Self {
        Self::with("")
    }

    /// The same with further lines of its configuration.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn with(configuration: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("nats.conf"), configuration).expect("a file");
        let process = spawn(folder.path(), "-1");
        let ports = folder.path().join(format!("nats-server_{}.ports", process.id()));
        let port = until_blocking("the server names its port", || {
            let ports: serde_json::Value = serde_json::from_str(&fs::read_to_string(&ports).ok()?).ok()?;
            ports["nats"][0].as_str()?.rsplit(':').next()?.parse().ok()
        });
        let (process, port) = (Mutex::new(process), port.expect("the server starts"));
        Self { folder, process, port }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.process.lock().id()
    }

    /// Kills it, and starts it again with the same events on the same port.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&self) {
        self.kill();
        self.start_again();
    }

    /// Kills it.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn kill(&self) {
        let mut process = self.process.lock();
        process.kill().expect("it is killed");
        process.wait().expect("it ends");
    }

    /// Sends it a signal, such as `STOP`.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status();
        assert!(sent.expect("it runs").success(), "{name}");
    }

    /// Starts it again after [`kill`](Self::kill).
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&self) {
        *self.process.lock() = spawn(self.folder.path(), &self.port.to_string());
        let connection = until_blocking("the server listens", || {
            std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
        connection.expect("the server starts again");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program, installed by `tests/nats-server/get`.
fn program() -> PathBuf {
    let get = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nats-server/get");
    let got = Command::new(get)
        .stderr(Stdio::inherit())
        .output()
        .expect("the script runs");
    assert!(got.status.success(), "tests/nats-server/get failed");
    String::from_utf8(got.stdout).expect("a path").trim().into()
}

fn spawn(folder: &Path, port: &str) -> Child {
    let mut server = Command::new(program());
    server.args(["--addr", "127.0.0.1", "--port", port, "--jetstream"]);
    server
        .arg("--store_dir")
        .arg(folder)
        .arg("--ports_file_dir")
        .arg(folder);
    server.arg("--config").arg(folder.join("nats.conf"));
    server.arg("--log").arg(folder.join("log"));
    server
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}
