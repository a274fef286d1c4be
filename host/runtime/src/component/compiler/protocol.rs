//! The protocol between the application and its compile worker, over the worker's standard input and output.
//!
//! ```text
//! request   magic and version (8), settings in JSON, component
//! answer    magic and version (8), 0 or 1 (1), compiled code or, after a 1, an error with its causes in JSON
//! ```
//!
//! Settings, component, code and error begin with their length in 8 bytes, little-endian. After its request the
//! application sends nothing more; the end of its output means that it has ended.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CompileJob;
use crate::component::settings::CodeSettings;
use crate::{CompileOptions, Error, ErrorKind};

/// The last byte is the version.
const REQUEST: [u8; 8] = *b"pw-comp\x02";
const ANSWER: [u8; 8] = *b"pw-code\x01";

/// The length of the head of an answer, in bytes.
pub(super) const ANSWER_HEAD: usize = ANSWER.len() + 1 + 8;

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
}

impl RequestSettings {
    pub(super) fn new(job: &CompileJob, options: &CompileOptions) -> Self {
        Self {
            code: job.settings,
            fingerprint: job.fingerprint,
            time: options.time,
            memory: options.memory,
        }
    }

    /// The request up to the component.
    pub(super) fn head(&self, component: usize) -> io::Result<Vec<u8>> {
        let settings = serde_json::to_vec(self)?;
        let (length, component) = ((settings.len() as u64).to_le_bytes(), (component as u64).to_le_bytes());
        Ok([&REQUEST[..], &length, &settings, &component].concat())
    }
}

/// Reads the request up to the component.
pub(super) fn read_settings(input: &mut impl Read) -> io::Result<RequestSettings> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut magic = [0; 8];
    input.read_exact(&mut magic)?;
    if magic[..7] != REQUEST[..7] {
        return Err(invalid("it is not a request to compile"));
    }
    if magic != REQUEST {
        return Err(invalid(
            "the request is of another version: the application is of another build",
        ));
    }
    Ok(serde_json::from_slice(&read_part(input)?)?)
}

/// Reads the settings or the component. Allocates only for bytes that arrive.
pub(super) fn read_part(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Writes an answer: compiled code, or an error with its causes, the outermost first.
pub(super) fn answer(output: &mut impl Write, compiled: &Result<Vec<u8>, Vec<String>>) -> io::Result<()> {
    let causes;
    let (case, content) = match compiled {
        Ok(code) => (0, code),
        Err(texts) => {
            causes = serde_json::to_vec(texts)?;
            (1, &causes)
        }
    };
    output.write_all(&ANSWER)?;
    output.write_all(&[case])?;
    output.write_all(&(content.len() as u64).to_le_bytes())?;
    output.write_all(content)?;
    output.flush()
}

/// Code that a worker compiled.
pub(super) struct WorkerCode(Vec<u8>);

impl WorkerCode {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    is_code: bool,
    pub(super) length: u64,
}

impl AnswerHead {
    /// `None` if it is not the head of an answer.
    pub(super) fn parse(head: &[u8; ANSWER_HEAD]) -> Option<Self> {
        let (case, length) = head.strip_prefix(&ANSWER)?.split_first()?;
        Some(Self {
            is_code: match case {
                0 => true,
                1 => false,
                _ => return None,
            },
            length: u64::from_le_bytes(length.try_into().ok()?),
        })
    }

    /// The whole answer.
    pub(super) fn with(self, content: Vec<u8>) -> Result<WorkerCode, Error> {
        if self.is_code {
            return Ok(WorkerCode(content));
        }
        let causes: Vec<String> = serde_json::from_slice(&content).map_err(|error| {
            Error::new(ErrorKind::Compile, "the compile worker's error cannot be read").with_source(error)
        })?;
        let chain = causes.into_iter().rev().fold(None, |cause: Option<Error>, text| {
            let error = Error::new(ErrorKind::Compile, text);
            Some(match cause {
                Some(cause) => error.with_source(cause),
                None => error,
            })
        });
        Err(chain.unwrap_or_else(|| Error::new(ErrorKind::Compile, "the component does not compile")))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::component::inspect::Form;

    fn settings() -> RequestSettings {
        let code = CodeSettings {
            form: Form::Asynchronous,
            stack: 4096,
        };
        RequestSettings {
            code,
            fingerprint: 9,
            time: Duration::from_millis(1500),
            memory: 1 << 30,
        }
    }

    fn answered(compiled: &Result<Vec<u8>, Vec<String>>) -> (AnswerHead, Vec<u8>) {
        let mut bytes = Vec::new();
        answer(&mut bytes, compiled).unwrap();
        let (head, content) = bytes.split_at(ANSWER_HEAD);
        let head = AnswerHead::parse(head.try_into().unwrap()).expect("it is an answer");
        assert_eq!(head.length, content.len() as u64);
        (head, content.to_vec())
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let mut request = settings().head(5).unwrap();
        request.extend_from_slice(b"bytes");
        let mut input = &*request;
        assert_eq!(read_settings(&mut input).unwrap(), settings());
        assert_eq!(read_part(&mut input).unwrap(), b"bytes");
    }

    #[test]
    fn a_request_that_breaks_off_is_refused() {
        let mut request = settings().head(5).unwrap();
        request.extend_from_slice(b"bytes");
        for length in 0..request.len() {
            let mut input = &request[..length];
            let read = read_settings(&mut input).and_then(|_| read_part(&mut input));
            assert!(read.is_err(), "{length} bytes");
        }
    }

    #[test]
    fn another_version_is_distinguished_from_garbage() {
        let mut request = settings().head(0).unwrap();
        request[7] += 1;
        let error = read_settings(&mut &*request).unwrap_err();
        assert!(error.to_string().contains("another version"), "{error}");
        let error = read_settings(&mut &b"GET / HTTP/1.1"[..]).unwrap_err();
        assert!(error.to_string().contains("not a request"), "{error}");
    }

    #[test]
    fn code_comes_back_as_it_is_and_errors_with_their_causes() {
        let (head, content) = answered(&Ok(b"code".to_vec()));
        assert_eq!(head.with(content).map(WorkerCode::into_bytes).unwrap(), b"code");
        let (head, content) = answered(&Err(vec!["outer".to_owned(), "inner".to_owned()]));
        let error = head.with(content).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "outer");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("inner"));
    }

    #[test]
    fn other_output_is_recognised_by_its_head() {
        assert_eq!(AnswerHead::parse(b"running 1 test\n\n\n"), None);
        let mut head = *b"pw-code\x01\x02\0\0\0\0\0\0\0\0";
        assert_eq!(AnswerHead::parse(&head), None);
        head[8] = 0;
        assert!(AnswerHead::parse(&head).is_some());
    }
}
