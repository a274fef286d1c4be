//! The protocol between the application and its compile worker, over the worker's standard input and output.
//!
//! ```text
//! request   name and version, settings in JSON, a line feed, component
//! answer    name and version, answer in JSON, a line feed, compiled code
//! ```
//!
//! After its request the application sends nothing more; the end of its output means that it has ended.

use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::component::settings::CodeSettings;

/// The name and the version.
const REQUEST: &[u8] = b"pw-comp 3 ";
pub(super) const ANSWER: &[u8] = b"pw-code 2 ";

/// The longest line, in bytes.
pub(super) const MAX_LINE: u64 = 1024 * 1024;

/// The settings and the limits of a compilation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestSettings {
    pub(super) code: CodeSettings,
    /// The fingerprint of the application's engine: a worker of another build would produce code for another one.
    pub(super) fingerprint: u64,
    /// Processor time.
    pub(super) time: Duration,
    /// In bytes.
    pub(super) memory: u64,
    /// The length of the component, in bytes.
    pub(super) component: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WorkerAnswer {
    /// Compiled code of that length, in bytes, follows.
    Code(u64),
    /// An error with its causes, the outermost first.
    Error(Vec<String>),
}

fn line(start: &[u8], content: &impl Serialize) -> io::Result<Vec<u8>> {
    Ok([start, &serde_json::to_vec(content)?, b"\n"].concat())
}

impl RequestSettings {
    /// The request up to the component.
    pub(super) fn line(&self) -> io::Result<Vec<u8>> {
        line(REQUEST, self)
    }

    /// Reads the request up to the component.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Self> {
        let mut line = Vec::new();
        input.take(MAX_LINE).read_until(b'\n', &mut line)?;
        if let Some(settings) = line.strip_prefix(REQUEST) {
            return Ok(serde_json::from_slice(settings)?);
        }
        let message = if line.starts_with(b"pw-comp ") {
            "the request is of another version: the application is of another build"
        } else {
            "it is not a request to compile"
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }

    /// Reads the component. Allocates only for bytes that arrive.
    pub(super) fn read_component(&self, input: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        input.take(self.component).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == self.component {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Writes an answer: compiled code, or an error with its causes, the outermost first.
pub(super) fn answer(output: &mut impl Write, compiled: Result<Vec<u8>, Vec<String>>) -> io::Result<()> {
    let (answer, code) = match compiled {
        Ok(code) => (WorkerAnswer::Code(code.len() as u64), code),
        Err(causes) => (WorkerAnswer::Error(causes), Vec::new()),
    };
    output.write_all(&line(ANSWER, &answer)?)?;
    output.write_all(&code)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::inspect::Form;

    fn settings(component: u64) -> RequestSettings {
        let code = CodeSettings {
            form: Form::Asynchronous,
            stack: 4096,
            development: false,
        };
        RequestSettings {
            code,
            fingerprint: 9,
            time: Duration::from_millis(1500),
            memory: 1 << 30,
            component,
        }
    }

    fn read(mut request: &[u8]) -> io::Result<(RequestSettings, Vec<u8>)> {
        let settings = RequestSettings::read(&mut request)?;
        let component = settings.read_component(&mut request)?;
        Ok((settings, component))
    }

    #[test]
    fn a_request_is_read_as_it_was_written_and_as_a_whole() {
        let mut request = settings(5).line().unwrap();
        request.extend_from_slice(b"bytes");
        assert_eq!(read(&request).unwrap(), (settings(5), b"bytes".to_vec()));
        for length in 0..request.len() {
            assert!(read(&request[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn another_version_is_distinguished_from_garbage() {
        let mut request = settings(0).line().unwrap();
        request[8] += 1;
        let error = read(&request).unwrap_err();
        assert!(error.to_string().contains("another version"), "{error}");
        let error = read(b"GET / HTTP/1.1").unwrap_err();
        assert!(error.to_string().contains("not a request"), "{error}");
    }
}
