//! Errors, and the guard that every function runs within.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pointwork_embed::http::HeaderMap;
use pointwork_embed::{Error, ErrorKind, Failure};

use crate::bytes::{PwBytes, c_text, output};
use crate::header::{PwHeader, header_at};

/// The kind of an error.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PwErrorKind {
    /// An argument is NULL where it must not be, or invalid.
    Argument = 1,
    /// A component is not one, was built against another version of the contract, imports more than it is granted, or
    /// does not compile.
    Component = 2,
    /// A declaration of a module, a route, a listener or a change is refused.
    Refused = 3,
    /// A setting is invalid.
    Settings = 4,
    /// A file, a directory, an address or another thing of the host cannot be used.
    Host = 5,
    /// The application is closed, or nobody waits for an answer any more.
    Closed = 6,
    /// The process was forked after the application was started.
    Forked = 7,
    /// Requests are answered within one another without end.
    Nested = 8,
    /// The engine or its threads do not start.
    Engine = 9,
    /// The header and the library are of different versions of the ABI.
    Abi = 10,
    /// The listener of a call failed; the message says why.
    Failed = 11,
    /// A defect of the library itself.
    Internal = 12,
    /// A time that the program set is over.
    TimedOut = 13,
}

static KINDS: [(PwErrorKind, &CStr); 13] = [
    (PwErrorKind::Argument, c"argument"),
    (PwErrorKind::Component, c"component"),
    (PwErrorKind::Refused, c"refused"),
    (PwErrorKind::Settings, c"settings"),
    (PwErrorKind::Host, c"host"),
    (PwErrorKind::Closed, c"closed"),
    (PwErrorKind::Forked, c"forked"),
    (PwErrorKind::Nested, c"nested"),
    (PwErrorKind::Engine, c"engine"),
    (PwErrorKind::Abi, c"abi"),
    (PwErrorKind::Failed, c"failed"),
    (PwErrorKind::Internal, c"internal"),
    (PwErrorKind::TimedOut, c"timed-out"),
];

/// An error: its kind, and its text, which names its causes.
#[derive(Debug)]
pub struct PwError {
    kind: PwErrorKind,
    message: CString,
    failure: Option<Failed>,
}

/// The failure of a listener, or of an operation on a request.
#[derive(Debug)]
struct Failed {
    status: u16,
    code: CString,
    details: Option<CString>,
    headers: HeaderMap,
}

impl PwError {
    pub(crate) fn new(kind: PwErrorKind, message: impl Into<String>) -> Box<Self> {
        let message = c_text(&message.into());
        Box::new(Self {
            kind,
            message,
            failure: None,
        })
    }

    pub(crate) fn failed(kind: PwErrorKind, message: String, failure: &Failure) -> Box<Self> {
        let mut error = Self::new(kind, message);
        let details = failure
            .details()
            .and_then(|details| serde_json::to_string(details).ok());
        error.failure = Some(Failed {
            status: failure.status().as_u16(),
            code: c_text(failure.code().as_str()),
            details: details.map(|details| c_text(&details)),
            headers: failure.headers().clone(),
        });
        error
    }

    pub(crate) fn argument(name: &str, expected: &str) -> Box<Self> {
        Self::new(
            PwErrorKind::Argument,
            format!("the argument `{name}` is invalid, expected {expected}"),
        )
    }

    pub(crate) fn null(name: &str) -> Box<Self> {
        Self::new(PwErrorKind::Argument, format!("the argument `{name}` is NULL"))
    }
}

impl From<Error> for Box<PwError> {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Component => PwErrorKind::Component,
            ErrorKind::Settings => PwErrorKind::Settings,
            ErrorKind::Host => PwErrorKind::Host,
            ErrorKind::Closed => PwErrorKind::Closed,
            ErrorKind::Forked => PwErrorKind::Forked,
            ErrorKind::Nested => PwErrorKind::Nested,
            ErrorKind::Engine => PwErrorKind::Engine,
            ErrorKind::TimedOut => PwErrorKind::TimedOut,
            _ => PwErrorKind::Refused,
        };
        PwError::new(kind, error.to_string())
    }
}

/// Runs a function: an error or a panic is its result.
pub(crate) fn guard(run: impl FnOnce() -> Result<(), Box<PwError>>) -> Option<Box<PwError>> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let message = format!("a defect of the library: {}", text.unwrap_or("no message"));
            Some(PwError::new(PwErrorKind::Internal, message))
        }
    }
}

/// Runs a function and writes its value to an output parameter.
pub(crate) fn guard_value<T>(
    parameter: Option<&mut MaybeUninit<T>>,
    name: &str,
    run: impl FnOnce() -> Result<T, Box<PwError>>,
) -> Option<Box<PwError>> {
    guard(|| {
        output(parameter, name)?.write(run()?);
        Ok(())
    })
}

/// Runs a function without an error: a panic is the default value.
pub(crate) fn guard_or<T>(default: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(default)
}

/// Bytes of a value of the library, which may be NULL.
pub(crate) fn part<'a, T, B: AsRef<[u8]> + ?Sized + 'a>(
    of: Option<&'a T>,
    part: impl FnOnce(&'a T) -> &'a B,
) -> PwBytes {
    guard_or(PwBytes::NONE, || {
        of.map_or(PwBytes::NONE, |of| PwBytes::new(part(of).as_ref()))
    })
}

fn failure_of(error: Option<&PwError>) -> Option<&Failed> {
    error?.failure.as_ref()
}

/// The kind of an error; PW_ERROR_KIND_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_kind_of(error: Option<&PwError>) -> PwErrorKind {
    error.map_or(PwErrorKind::Argument, |error| error.kind)
}

/// The name of a kind, such as "timed-out"; "unknown" for a number that is no kind. It lives as long as the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_kind_name(kind: i32) -> *const c_char {
    let name = KINDS.iter().find(|(one, _)| *one as i32 == kind);
    name.map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// The text of an error, which lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_message(error: Option<&PwError>) -> *const c_char {
    error.map_or(c"the argument `error` is NULL".as_ptr(), |error| error.message.as_ptr())
}

/// The code of a failure of a listener or of an operation on a request, such as "unknown-event"; an empty text for
/// other errors. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_code(error: Option<&PwError>) -> *const c_char {
    failure_of(error).map_or(c"".as_ptr(), |failure| failure.code.as_ptr())
}

/// The status of such a failure, 400 to 599; 0 for other errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_status(error: Option<&PwError>) -> u16 {
    failure_of(error).map_or(0, |failure| failure.status)
}

/// The fields beside the message of such a failure as a JSON object; NULL for none. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_details(error: Option<&PwError>) -> *const c_char {
    let details = failure_of(error).and_then(|failure| failure.details.as_ref());
    details.map_or(ptr::null(), |details| details.as_ptr())
}

/// The header at that place of such a failure, from 0; false behind the last one. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_header_at(
    error: Option<&PwError>,
    index: usize,
    header: Option<&mut MaybeUninit<PwHeader>>,
) -> bool {
    guard_or(false, || {
        header_at(failure_of(error).map(|failure| &failure.headers), index, header)
    })
}

/// Frees an error. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_error_free(error: Option<Box<PwError>>) {
    drop(error);
}
