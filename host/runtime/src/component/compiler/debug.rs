//! The compiler of debug builds, which release builds do not have. A debug build takes seconds for a small component, and tests start
//! many programs that load components with the same code.

use crate::{Error, ErrorKind, Worker};

/// A JSON array with a program and its arguments. The program answers as [`work`](super::work) does.
const VARIABLE: &str = "POINTWORK_DEBUG_COMPILER";

/// The worker that the environment names.
///
/// # Errors
/// [`Compile`](ErrorKind::Compile) if the variable has another form.
pub(super) fn worker() -> Result<Option<Worker>, Error> {
    let Ok(command) = std::env::var(VARIABLE) else {
        return Ok(None);
    };
    let words: Vec<String> = serde_json::from_str(&command).unwrap_or_default();
    let [program, arguments @ ..] = &*words else {
        let message = format!("`{VARIABLE}` is `{command}`, expected a JSON array with a program and its arguments");
        return Err(Error::new(ErrorKind::Compile, message));
    };
    Ok(Some(arguments.iter().fold(Worker::new(program), Worker::argument)))
}
