//! A channel module that tries everything that a module can be granted, and returns the results.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pointwork_guest::{Failure, HttpStatus, channel, module};
use serde::Deserialize;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

/// Everything outside the sandbox.
pub struct Outside;

#[derive(Deserialize)]
struct File {
    path: String,
    text: String,
}

#[derive(Deserialize)]
struct Target {
    authority: String,
    path: String,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(HttpStatus::BAD_GATEWAY, error.to_string())
}

#[channel("outside")]
impl Outside {
    #[on("read")]
    fn read(path: String) -> Result<String, Failure> {
        std::fs::read_to_string(path).map_err(failed)
    }

    #[on("write")]
    fn write(file: File) -> Result<(), Failure> {
        std::fs::write(file.path, file.text).map_err(failed)
    }

    #[on("variable")]
    fn variable(name: String) -> Option<String> {
        std::env::var(name).ok()
    }

    #[on("variables")]
    fn variables() -> usize {
        std::env::vars().count()
    }

    /// Whether the clocks advance.
    #[on("clocks")]
    fn clocks() -> bool {
        let began = Instant::now();
        SystemTime::now() > UNIX_EPOCH && Instant::now() >= began
    }

    #[on("print")]
    fn print(text: String) {
        println!("{text}");
        eprintln!("{text}, to standard error");
        // It ends with the call.
        print!("{text}, begun");
        std::io::stdout().flush().expect("it is granted");
    }

    /// Sends a line to an address and returns the line that it gets back.
    #[on("connect")]
    fn connect(address: String) -> Result<String, Failure> {
        let mut stream = TcpStream::connect(address).map_err(failed)?;
        stream.write_all(b"hello\n").map_err(failed)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(failed)?;
        Ok(answer)
    }

    #[on("listen")]
    fn listen() -> Result<(), Failure> {
        TcpListener::bind("127.0.0.1:0").map(drop).map_err(failed)
    }

    #[on("datagram")]
    fn datagram(address: String) -> Result<usize, Failure> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
        socket.send_to(b"hello", address).map_err(failed)
    }

    /// The status and the body of a GET request.
    #[on("fetch")]
    fn fetch(target: Target) -> Result<String, Failure> {
        let request = OutgoingRequest::new(Fields::new());
        let odd = |()| failed("the request cannot be made");
        request.set_scheme(Some(&Scheme::Http)).map_err(odd)?;
        request.set_authority(Some(&target.authority)).map_err(odd)?;
        request.set_path_with_query(Some(&target.path)).map_err(odd)?;
        let response = outgoing_handler::handle(request, None).map_err(failed)?;
        response.subscribe().block();
        let response = match response.get() {
            Some(Ok(response)) => response.map_err(failed)?,
            _ => return Err(failed("no response came")),
        };
        let body = response.consume().map_err(odd)?;
        let stream = body.stream().map_err(odd)?;
        let mut text = Vec::new();
        while let Ok(piece) = stream.blocking_read(4096) {
            text.extend(piece);
        }
        Ok(format!("{} {}", response.status(), String::from_utf8_lossy(&text)))
    }
}

module! { channels: Outside }
