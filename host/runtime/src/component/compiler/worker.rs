//! The compile worker's side.

use std::io::{self, Read};
use std::sync::mpsc;
use std::{process, thread};

use super::artifact::{compiling_engine, fingerprint};
use super::exit::out_of_memory;
use super::protocol::{RequestSettings, answer};
use crate::{Error, ErrorKind, OrError};

/// Compiles one component for the application, and returns: the program of a [`Worker`](crate::Worker) runs this.
///
/// It uses the standard input and output of the process, to which nothing else may write. On Unix it lowers the
/// priority of the process, and limits its processor time and, on Linux, its memory
/// ([`CompileOptions`](crate::CompileOptions)). It ends the process when the application ends.
///
/// # Errors
/// [`Compile`](crate::ErrorKind::Compile) if its input has no request, or its output is closed. A component that does
/// not compile is an answer, not an error.
pub fn work() -> Result<(), Error> {
    let unread = |error: io::Error| {
        Error::new(
            ErrorKind::Compile,
            "there is no request to compile on the standard input",
        )
        .with_source(error)
        .with_hint("the server starts this when it loads a component")
    };
    lower_priority();
    // Before memory is limited: the stack of the thread counts as memory.
    let watch = end_with_the_application().or_error(ErrorKind::Compile, "a thread does not start")?;
    let mut input = io::stdin().lock();
    let settings = RequestSettings::read(&mut input).map_err(unread)?;
    limit(&settings).or_error(ErrorKind::Compile, "the limits of the process cannot be set")?;
    let component = settings.read_component(&mut input);
    drop(input);
    let compiled = match component {
        Ok(component) => {
            // The thread waits for this.
            let _ = watch.send(());
            compile(&settings, &component)
        }
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            Err(vec![format!("the compile worker {}", out_of_memory(settings.memory))])
        }
        Err(error) => return Err(unread(error)),
    };
    answer(&mut io::stdout().lock(), compiled).or_error(ErrorKind::Compile, "the answer cannot be written")
}

fn compile(settings: &RequestSettings, component: &[u8]) -> Result<Vec<u8>, Vec<String>> {
    let texts = |error: wasmtime::Error| {
        let mut texts = vec!["the component does not compile".to_owned()];
        texts.extend(error.chain().map(ToString::to_string));
        texts
    };
    // The threads of a parallel compilation inherit the low priority.
    let engine = compiling_engine(settings.code, true).map_err(texts)?;
    if fingerprint(&engine) != settings.fingerprint {
        return Err(vec![
            "the compile worker is of another build than the server: start the server again".to_owned(),
        ]);
    }
    engine.precompile_component(component).map_err(texts)
}

/// Starts a thread that ends the process when the input ends: the application sends nothing after its request. It
/// begins with the message that the sender sends, and ends if there is none.
fn end_with_the_application() -> io::Result<mpsc::Sender<()>> {
    let (begin, begun) = mpsc::channel();
    let watch = move || {
        if begun.recv().is_err() {
            return;
        }
        loop {
            match io::stdin().read(&mut [0]) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => process::exit(1),
            }
        }
    };
    let thread = thread::Builder::new().name("pointwork-watch".to_owned());
    thread.spawn(watch).map(|_| begin)
}

/// Called before other threads start, which inherit it.
fn lower_priority() {
    #[cfg(unix)]
    // It compiles with the normal priority too.
    let _ = rustix::process::nice(super::thread::NICE);
}

#[cfg(unix)]
fn limit(settings: &RequestSettings) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let set = |resource, limit: u64| {
        let maximum = getrlimit(resource).maximum;
        let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(
            resource,
            Rlimit {
                current: Some(limit),
                maximum,
            },
        )
    };
    // In whole seconds, of which 0 would end it at once.
    let rounded = u64::from(settings.time.subsec_nanos() > 0);
    let seconds = settings.time.as_secs().saturating_add(rounded);
    set(Resource::Cpu, seconds.max(1))?;
    set(Resource::Data, settings.memory)?;
    // A worker that hits a limit must not fill the disk with a core dump.
    set(Resource::Core, 0)?;
    Ok(())
}

#[cfg(not(unix))]
fn limit(_settings: &RequestSettings) -> io::Result<()> {
    Ok(())
}
