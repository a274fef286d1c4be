//! Servers of other processes, and the load for them: connections that are kept, each with one request at a time, from a thread
//! that never sleeps, so that the server does not pay for waking it.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{mem, thread};

use super::{clock, median};

const CONNECTIONS: usize = 32;
const WARM_UP: Duration = Duration::from_millis(500);
const BURST: Duration = Duration::from_millis(1_000);
const ROUNDS: usize = 9;

/// The processor of every server, and that of the load.
pub(crate) const CORES: [usize; 2] = [0, 1];

/// A server in a process of its own, which ends with its input.
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    address: String,
    bursts: Vec<Burst>,
}

/// Requests per second, and the processor time of the server for each, in µs.
#[derive(Clone, Copy)]
struct Burst {
    rate: f64,
    micros: f64,
}

impl Server {
    /// Starts a program that prints `listening on http://ADDRESS`, perhaps behind other lines.
    pub(crate) fn start(name: &'static str, program: &Command) -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", &CORES[0].to_string()]).arg(program.get_program());
        command.args(program.get_args());
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("taskset does not start ({error}): install the package `util-linux`"));
        let output = child.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(output).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("listening on http://")?;
            Some(address.split(',').next().unwrap_or(address).to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("{name} does not listen"));
        // A server whose output nobody reads blocks once the pipe is full.
        thread::spawn(move || lines.for_each(drop));
        Self {
            name,
            child,
            address,
            bursts: Vec::new(),
        }
    }

    /// The processor time that it has used, in µs.
    fn spent(&self) -> f64 {
        let mut id = 0;
        let process = libc::pid_t::try_from(self.child.id()).expect("a process");
        // SAFETY: the id is a place for the result.
        let error = unsafe { libc::clock_getcpuclockid(process, &raw mut id) };
        assert_eq!(error, 0, "{} ended", self.name);
        clock(id)
    }

    fn burst(&mut self, time: Duration) -> Burst {
        let spent = self.spent();
        let begun = Instant::now();
        let number = send(&self.address, "/plain", b"plain", time);
        let (rate, micros) = (number / begun.elapsed().as_secs_f64(), (self.spent() - spent) / number);
        Burst { rate, micros }
    }

    fn rate(&self) -> f64 {
        median(self.bursts.iter().map(|burst| burst.rate))
    }

    fn micros(&self) -> f64 {
        median(self.bursts.iter().map(|burst| burst.micros))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Sends requests for that time, and checks the replies; the result is their number.
fn send(address: &str, path: &str, body: &[u8], time: Duration) -> f64 {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let connect = || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.write_all(request.as_bytes()).expect("written");
        stream.set_nonblocking(true).expect("a socket");
        let received = Vec::new();
        Connection { stream, received }
    };
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
    let (begun, mut number) = (Instant::now(), 0.0);
    let mut buffer = [0; 4096];
    while begun.elapsed() < time {
        for connection in &mut connections {
            let read = match connection.stream.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => panic!("a connection broke off: {error}"),
            };
            assert!(read > 0, "the server closed a connection");
            connection.received.extend_from_slice(&buffer[..read]);
            let ends = connection.received.ends_with(body) || connection.received.ends_with(b"\r\n0\r\n\r\n");
            if !ends {
                continue;
            }
            let received = mem::take(&mut connection.received);
            assert!(
                received.starts_with(b"HTTP/1.1 200"),
                "{}",
                String::from_utf8_lossy(&received)
            );
            connection.stream.write_all(request.as_bytes()).expect("written");
            number += 1.0;
        }
    }
    number
}

/// Keeps this thread, and those that it starts from now on, on one processor.
pub(crate) fn pin(core: usize) {
    // SAFETY: zeroes are a value of it.
    let mut cores: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the set and its size belong together.
    unsafe {
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(0, size_of_val(&cores), &raw const cores);
    }
}

/// Has all servers answered in turn, and prints a table: each with its ratio to the one at the given place.
pub(crate) fn in_turn(servers: Vec<(Server, usize)>) {
    pin(CORES[1]);
    let mut servers = servers;
    for (server, _) in &mut servers {
        server.burst(WARM_UP);
    }
    for _ in 0..ROUNDS {
        for (server, _) in &mut servers {
            let burst = server.burst(BURST);
            server.bursts.push(burst);
        }
    }
    println!(
        "\n| server | requests/s | µs of the processor | compared with | requests/s | processor |\n|---|---|---|---|---|---|"
    );
    for (server, reference) in &servers {
        let other = &servers[*reference].0;
        let pairs = || server.bursts.iter().zip(&other.bursts);
        let rate = median(pairs().map(|(own, other)| own.rate / other.rate));
        let micros = median(pairs().map(|(own, other)| own.micros / other.micros));
        let (own, spent) = (server.rate(), server.micros());
        println!(
            "| {} | {own:.0} | {spent:.2} | {} | {rate:.2} | {micros:.2} |",
            server.name, other.name
        );
    }
}
