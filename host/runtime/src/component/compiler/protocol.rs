//! The protocol between the application and its compile worker, over the worker's standard input and output.
//!
//! ```text
//! request   magic and version (8), length of the settings (4), settings in JSON, length of the component (8), component
//! answer    magic and version (8), 0 or 1 (1), length (8), compiled code or, after a 1, an error with its causes in JSON
//! ```
//!
//! Lengths are little-endian. After its request the application sends nothing more; the end of its output means that it has ended.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CompileJob;
use crate::component::inspect::Form;
use crate::component::settings::CodeSettings;
use crate::{CompileOptions, Error, ErrorKind};

/// The last byte is the version.
const REQUEST: [u8; 8] = *b"pw-comp\x01";
const ANSWER: [u8; 8] = *b"pw-code\x01";

/// The longest settings, in bytes.
const SETTINGS: u32 = 64 * 1024;

/// The length of the head of an answer, in bytes.
pub(super) const ANSWER_HEAD: usize = ANSWER.len() + 1 + 8;

/// The settings and the limits of a compilation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RequestSettings {
    asynchronous: bool,
    stack: usize,
    /// The fingerprint of the application's engine: a worker of another build would produce code for another one.
    pub(super) fingerprint: [u8; 32],
    /// Processor time.
    pub(super) time: Duration,
    /// In bytes.
    pub(super) memory: u64,
}

impl RequestSettings {
    pub(super) fn new(job: &CompileJob, options: &CompileOptions) -> Self {
        Self {
            asynchronous: job.settings.form == Form::Asynchronous,
            stack: job.settings.stack,
            fingerprint: job.fingerprint,
            time: options.time,
            memory: options.memory,
        }
    }

    pub(super) fn code(&self) -> CodeSettings {
        CodeSettings {
            form: if self.asynchronous {
                Form::Asynchronous
            } else {
                Form::Synchronous
            },
            stack: self.stack,
        }
    }

    /// The head of a request, which the component follows.
    pub(super) fn head(&self, component: usize) -> io::Result<Vec<u8>> {
        let settings = serde_json::to_vec(self)?;
        let length = u32::try_from(settings.len()).map_err(io::Error::other)?;
        let mut head = REQUEST.to_vec();
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&settings);
        head.extend_from_slice(&(component as u64).to_le_bytes());
        Ok(head)
    }
}

/// Reads the head of a request; the component follows.
pub(super) fn read_settings(input: &mut impl Read) -> io::Result<RequestSettings> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    let magic: [u8; 8] = take(input)?;
    if magic[..7] != REQUEST[..7] {
        return Err(invalid("it is not a request to compile"));
    }
    if magic != REQUEST {
        return Err(invalid(
            "the request is of another version: the application is of another build",
        ));
    }
    let length = u32::from_le_bytes(take(input)?);
    if length > SETTINGS {
        return Err(invalid("the settings are too long"));
    }
    Ok(serde_json::from_slice(&read_exactly(input, u64::from(length))?)?)
}

pub(super) fn read_component(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = u64::from_le_bytes(take(input)?);
    read_exactly(input, length)
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Allocates only for bytes that arrive.
fn read_exactly(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
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

    fn settings() -> RequestSettings {
        RequestSettings {
            asynchronous: true,
            stack: 4096,
            fingerprint: [9; 32],
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
        assert_eq!(read_component(&mut input).unwrap(), b"bytes");
    }

    #[test]
    fn a_request_that_breaks_off_is_refused() {
        let mut request = settings().head(5).unwrap();
        request.extend_from_slice(b"bytes");
        for length in 0..request.len() {
            let mut input = &request[..length];
            let read = read_settings(&mut input).and_then(|_| read_component(&mut input));
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
