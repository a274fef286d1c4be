//! A running `pointwork serve`, and a small client.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pointwork_suite::languages::compiler_of_programs;
use pointwork_test_clock::real::{PATIENCE, until_blocking};
use serde_json::Value;
use snapbox::cmd::cargo_bin;

use crate::{VARIABLES, cache};

/// A running server. It ends with the test, also when the test fails.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<Box<dyn Read + Send + Sync>>,
    errors: PathBuf,
    pub(crate) banner: String,
    pub(crate) address: SocketAddr,
    /// Its current directory, for sockets with relative paths.
    folder: PathBuf,
}

/// The end of a server.
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    /// Its standard output after the banner.
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Server {
    /// Starts `pointwork dev` on a free port and reads its banner. The products of its builds are kept in this directory.
    pub(crate) fn develop(folder: &Path, target_dir: &Path) -> Self {
        let mut command = command_of("dev", folder, [""; 0]);
        command.env("CARGO_TARGET_DIR", target_dir);
        Self::start_in(command, folder)
    }

    /// Starts `pointwork serve` on a free port and reads its banner.
    pub(crate) fn start(folder: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        Self::start_with(folder, arguments, |_| {})
    }

    pub(crate) fn start_with(
        folder: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = command(folder, arguments);
        change(&mut command);
        Self::start_in(command, folder)
    }

    /// Starts `pointwork serve` and reads nothing: its address is unknown.
    #[cfg(unix)]
    pub(crate) fn start_without_banner(folder: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = command(folder, [""; 0]);
        change(&mut command);
        Self::spawn(command, folder)
    }

    /// Starts a program that prints its address, and logs into the folder.
    pub(crate) fn start_in(command: Command, folder: &Path) -> Self {
        let mut server = Self::spawn(command, folder);
        server.address = server.read_banner();
        server
    }

    fn spawn(mut command: Command, folder: &Path) -> Self {
        let mut child = command.spawn().expect("it runs");
        let stdout: Box<dyn Read + Send + Sync> = match child.stdout.take() {
            Some(piped) => Box::new(piped),
            None => Box::new(std::io::empty()),
        };
        Self {
            child,
            stdout: BufReader::new(stdout),
            errors: folder.join("errors.log"),
            banner: String::new(),
            address: ([0, 0, 0, 0], 0).into(),
            folder: folder.to_owned(),
        }
    }

    /// Reads up to the line with the address.
    fn read_banner(&mut self) -> SocketAddr {
        loop {
            let before = self.banner.len();
            if self.stdout.read_line(&mut self.banner).expect("text") == 0 {
                let errors = std::fs::read_to_string(&self.errors).expect("text");
                panic!("it ended:\n{}{errors}", self.banner);
            }
            let line = self.banner[before..].trim_end();
            if let Some(address) = line.strip_prefix("listening on http://") {
                return address.parse().expect("an address");
            }
        }
    }

    /// Everything that it wrote to its standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.errors).expect("text")
    }

    /// Waits until the log has a line with this text, and returns that line.
    pub(crate) fn logged(&self, text: &str) -> String {
        let line = || Some(self.log().lines().find(|line| line.contains(text))?.to_owned());
        let line = until_blocking(&format!("the log has `{text}`"), line);
        line.unwrap_or_else(|error| panic!("{error}:\n{}", self.log()))
    }

    /// Waits for a condition.
    pub(crate) fn until(&self, is_so: impl Fn() -> bool) {
        let comes = until_blocking("the condition holds", || is_so().then_some(()));
        comes.unwrap_or_else(|error| panic!("{error}:\n{}", self.log()));
    }

    /// The place of the admin endpoint in the banner.
    pub(crate) fn admin_place(&self) -> &str {
        let mut lines = self.banner.lines();
        lines
            .find_map(|line| line.strip_prefix("admin on "))
            .unwrap_or_else(|| panic!("no admin endpoint:\n{}", self.banner))
    }

    /// One request to the admin endpoint on a socket.
    #[cfg(unix)]
    pub(crate) fn admin(&self, method: &str, target: &str, body: &[u8]) -> Reply {
        self.admin_on(self.admin_place(), method, target, body)
            .expect("a reply in text")
    }

    /// One request to the admin endpoint on that socket, which may not be there.
    #[cfg(unix)]
    pub(crate) fn admin_on(&self, place: &str, method: &str, target: &str, body: &[u8]) -> std::io::Result<Reply> {
        let mut stream = std::os::unix::net::UnixStream::connect(self.folder.join(place))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        try_request(&mut stream, method, target, "host: admin\r\n", body)
    }

    /// Its process id.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", signal, &id])
            .status()
            .expect("POSIX has it");
        assert!(sent.success());
    }

    /// Sends a signal by its name and waits for the end.
    #[cfg(unix)]
    pub(crate) fn stop(self, signal: &str) -> End {
        self.signal(signal);
        self.ends(signal)
    }

    /// Waits for the end, for a reason.
    #[cfg(unix)]
    pub(crate) fn ends(mut self, reason: &str) -> End {
        let what = format!("{reason} ends the server");
        let status = until_blocking(&what, || self.child.try_wait().expect("it is ours"));
        let status = status.unwrap_or_else(|error| panic!("{error}:\n{}", self.log()));
        let mut output = String::new();
        self.stdout.read_to_string(&mut output).expect("text");
        End {
            code: status.code(),
            output,
            errors: std::fs::read_to_string(&self.errors).expect("text"),
        }
    }

    pub(crate) fn get(&self, target: &str) -> Reply {
        self.send("GET", target, None)
    }

    /// Whether the page has this body. Where `dev` takes a new configuration, a server takes the place of another one, which closes
    /// a connection that has no request yet.
    pub(crate) fn serves(&self, target: &str, body: &str) -> bool {
        let reply = TcpStream::connect(self.address).and_then(|mut stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            try_request(&mut stream, "GET", target, &format!("host: {}\r\n", self.address), b"")
        });
        reply.is_ok_and(|reply| reply.body == body)
    }

    /// One request on a connection of its own; a body is JSON.
    pub(crate) fn send(&self, method: &str, target: &str, body: Option<&str>) -> Reply {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let mut headers = format!("host: {}\r\n", self.address);
        if body.is_some() {
            headers.push_str("content-type: application/json\r\n");
        }
        request(stream, method, target, &headers, body.unwrap_or_default().as_bytes())
    }
}

/// `pointwork serve` on a free port, which logs into the folder.
pub(crate) fn command(folder: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    command_of("serve", folder, arguments)
}

pub(crate) fn command_of(
    subcommand: &str,
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    command_at("127.0.0.1:0", subcommand, folder, arguments)
}

pub(crate) fn command_at(
    address: &str,
    subcommand: &str,
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut all: Vec<OsString> = vec![subcommand.into(), "--listen".into(), address.into()];
    all.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
    plain_command(folder, &all)
}

pub(crate) fn plain_command(folder: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(cargo_bin!("pointwork"));
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
        .env("XDG_CACHE_HOME", cache())
        .envs([compiler_of_programs()])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(File::create(folder.join("errors.log")).expect("created"));
    command
}

/// The command as the last arguments of another one, such as a shell; it logs into the folder.
#[cfg(target_os = "linux")]
pub(crate) fn within(folder: &Path, command: &Command, outer: &[&str]) -> Command {
    let mut within = Command::new(outer[0]);
    within
        .args(&outer[1..])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(File::create(folder.join("errors.log")).expect("created"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => within.env(name, value),
            None => within.env_remove(name),
        };
    }
    within
}

/// One request on a connection of its own.
pub(crate) fn request(mut stream: impl Read + Write, method: &str, target: &str, headers: &str, body: &[u8]) -> Reply {
    try_request(&mut stream, method, target, headers, body).expect("a reply in text")
}

/// One request on a connection of its own, which may break.
pub(crate) fn try_request(
    stream: &mut (impl Read + Write),
    method: &str,
    target: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<Reply> {
    let mut request = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n{headers}");
    if !body.is_empty() {
        request.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes())?;
    stream.write_all(body)?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let (head, body) = reply
        .split_once("\r\n\r\n")
        .ok_or_else(|| std::io::Error::other("no head"))?;
    Ok(Reply {
        status: head[9..12].parse().expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The headers, their names in lower case.
    #[cfg(unix)]
    pub(crate) fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        let headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.map(|(name, value)| (name.to_lowercase(), value))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status, and the message of an error.
    pub(crate) fn error(&self) -> (u16, String) {
        (
            self.status,
            self.json()["message"].as_str().unwrap_or_default().to_owned(),
        )
    }
}
