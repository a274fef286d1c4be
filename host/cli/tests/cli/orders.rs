//! The example `examples/orders`: no order is lost, whatever process is killed (spec N1, N9).

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use pointwork_test_clock::real::until_built;
use serde_json::json;
use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

use crate::example::{run_unit_tests, target_dir};
use crate::server::{Reply, try_request};
use crate::{cache, folder};

fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/orders");
    directory.canonicalize().expect("it is there")
}

/// The command `run` of the example, in a copy with free ports.
struct Run {
    folder: TempDir,
    script: Child,
    shop: SocketAddr,
    mail: SocketAddr,
}

impl Run {
    fn start(store: &str) -> Self {
        let folder = folder();
        let ports = [(); 3].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            listener.local_addr().expect("an address").port()
        });
        let guests = directory().join("../../guest").canonicalize().expect("it is there");
        let copy = |path: &str| {
            let mut text = fs::read_to_string(directory().join(path)).expect("text");
            // In two steps: a free port may have the digits of another one in it.
            for (port, word) in [("8080", "<shop>"), ("8081", "<mail>"), ("4222", "<nats>")] {
                text = text.replace(port, word);
            }
            for (word, free) in ["<shop>", "<mail>", "<nats>"].into_iter().zip(ports) {
                text = text.replace(word, &free.to_string());
            }
            let text = text.replace("../../guest", &guests.display().to_string());
            let to = folder.path().join(path);
            fs::create_dir_all(to.parent().expect("a folder")).expect("created");
            fs::write(to, text).expect("written");
        };
        for path in ["Cargo.toml", "Cargo.lock", "schema.sql", "run"] {
            copy(path);
        }
        for package in ["events", "mail", "shop"] {
            copy(&format!("{package}/Cargo.toml"));
            copy(&format!("{package}/src/lib.rs"));
        }
        for file in ["shop.toml", "mail.toml"] {
            copy(&format!("{store}/{file}"));
        }
        let get = directory().join("../../tests/nats-server/get");
        let got = Command::new(get).output().expect("the script runs");
        assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
        let log = || {
            File::options()
                .append(true)
                .create(true)
                .open(folder.path().join("log"))
                .expect("a file")
        };
        let script = Command::new("bash")
            .args(["run", store])
            .current_dir(folder.path())
            .env("POINTWORK", cargo_bin("pointwork"))
            .env("NATS_SERVER", String::from_utf8_lossy(&got.stdout).trim())
            .env("CARGO_TARGET_DIR", target_dir())
            .env("XDG_CACHE_HOME", cache())
            .stdout(log())
            .stderr(log())
            .process_group(0)
            .spawn()
            .expect("it starts");
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let (shop, mail) = (address(ports[0]), address(ports[1]));
        Self {
            folder,
            script,
            shop,
            mail,
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let comes = until_built(what, || holds().then_some(()));
        comes.unwrap_or_else(|error| panic!("{error}:\n{}", self.log()));
    }

    /// Kills the process that runs under that name now, or that the script is about to start.
    fn kill(&self, name: &str) {
        let begins = format!("{name}: process ");
        let running = || {
            let log = self.log();
            let process = log.lines().rev().find_map(|line| line.strip_prefix(&begins))?;
            (!process.ends_with("ended")).then(|| process.to_owned())
        };
        self.until(&format!("{name} runs"), || running().is_some());
        let process = running().expect("it runs");
        let killed = Command::new("kill").args(["-9", &process]).status();
        assert!(killed.expect("it runs").success(), "{begins}{process}");
        let ended = format!("{begins}{process} has ended");
        self.until(&ended, || self.log().contains(&ended));
    }

    /// Sends an order until it is accepted, as its client would.
    fn order(&self, id: u32, to: &str) {
        let body = json!({"id": id, "item": "tea", "to": to}).to_string();
        self.until("the order is accepted", || {
            send(self.shop, "POST", "/orders", &body).is_some_and(|reply| reply.status == 202)
        });
    }

    /// The events of the mails.
    fn mails(&self) -> Vec<String> {
        let reply = send(self.mail, "GET", "/mails", "").filter(|reply| reply.status == 200);
        let mails = reply.map(|reply| reply.json()).unwrap_or_default();
        let mails = mails.as_array().cloned().unwrap_or_default();
        mails
            .iter()
            .map(|mail| mail["event"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The script ends its processes.
        let _gone = Command::new("kill").arg(self.script.id().to_string()).status();
        let _status = self.script.wait();
    }
}

/// `None` if nobody answers.
fn send(to: SocketAddr, method: &str, target: &str, body: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(to).ok()?;
    let head = format!("host: {to}\r\ncontent-type: application/json\r\n");
    try_request(&mut stream, method, target, &head, body.as_bytes()).ok()
}

fn survives_kills(store: &str) {
    let run = Run::start(store);
    run.until("both serve", || {
        send(run.mail, "GET", "/mails", "").is_some() && TcpStream::connect(run.shop).is_ok()
    });
    run.order(1, "ada@example.com");
    run.until("the mail is sent", || run.mails() == ["mail:order:1"]);
    // The order comes while the mail service is away, and then nothing is left that has it in memory.
    run.kill("mail");
    run.order(2, "ada@example.com");
    run.order(3, "nobody");
    for name in ["shop", "nats", "mail"] {
        run.kill(name);
    }
    run.order(2, "ada@example.com");
    run.order(4, "ada@example.com");
    run.until("every mail is sent", || run.mails().len() == 3);
    assert_eq!(run.mails(), ["mail:order:1", "mail:order:2", "mail:order:4"]);
}

#[test]
fn order_survives_the_kill_of_every_process_with_nats() {
    survives_kills("nats");
}

#[test]
fn order_survives_the_kill_of_every_process_with_sqlite() {
    survives_kills("sqlite");
}

#[test]
fn tests_of_the_packages_pass() {
    run_unit_tests(&directory());
}
