//! What a compile worker does.

use std::io::{self, Read};
use std::sync::mpsc;
use std::{process, thread};

use super::artifact::{compiling_engine, fingerprint};
use super::death::out_of_memory;
use super::protocol::{self, Settings};
use crate::{Error, ErrorKind};

/// What the program of a [`Worker`](crate::Worker) does: it compiles one component, and returns.
///
/// It talks to the application over its standard input and output, to which nobody else may write. On Unix it takes a low
/// priority for the process, and bounds its processor time and memory
/// ([`CompileOptions`](crate::CompileOptions)); the memory on Linux alone. Once the application is gone, it ends the process.
///
/// # Errors
/// [`Compile`](crate::ErrorKind::Compile) if there is no request on its input, or nobody to answer. A component that does
/// not compile is an answer.
pub fn work() -> Result<(), Error> {
    let failed = |message: &'static str| move |error| Error::new(ErrorKind::Compile, message).with_source(error);
    let unread = |error: io::Error| {
        failed("there is no request to compile on the standard input")(error)
            .with_hint("the server runs this when it loads a component")
    };
    lower_priority();
    // While there is room for its stack.
    let watch = end_with_the_application().map_err(failed("a thread does not start"))?;
    let mut input = io::stdin();
    let settings = protocol::read_settings(&mut input).map_err(unread)?;
    bound(&settings).map_err(failed("the process cannot be bounded"))?;
    let compiled = match protocol::read_component(&mut input) {
        Ok(component) => {
            // It waits for nothing else, so it is there.
            let _ = watch.send(());
            compile(&settings, &component)
        }
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            Err(vec![format!("the compile worker {}", out_of_memory(settings.memory))])
        }
        Err(error) => return Err(unread(error)),
    };
    protocol::answer(&mut io::stdout().lock(), &compiled).map_err(failed("nobody reads the answer"))
}

fn compile(settings: &Settings, component: &[u8]) -> Result<Vec<u8>, Vec<String>> {
    let texts = |error: wasmtime::Error| {
        let mut texts = vec!["the component does not compile".to_owned()];
        texts.extend(error.chain().map(ToString::to_string));
        texts
    };
    // The threads of a parallel compilation inherit the low priority.
    let engine = compiling_engine(settings.code(), true).map_err(texts)?;
    if fingerprint(&engine) != settings.fingerprint {
        return Err(vec![
            "the compile worker is of another build than the server: start the server again".to_owned(),
        ]);
    }
    engine.precompile_component(component).map_err(texts)
}

/// The application says nothing after its request, so its end is all that can come. The thread begins to watch for it
/// when it is told to; if it never is, there was no request.
fn end_with_the_application() -> io::Result<mpsc::Sender<()>> {
    let (begin, told) = mpsc::channel();
    let watch = move || {
        if told.recv().is_err() {
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

/// Called before there is another thread, so all of them inherit it.
fn lower_priority() {
    #[cfg(unix)]
    // With the priority of the application it compiles as well.
    let _ = rustix::process::nice(super::thread::NICE);
}

#[cfg(unix)]
fn bound(settings: &Settings) -> io::Result<()> {
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
    // The unit is the second, and none would end it at once.
    let rounded = u64::from(settings.time.subsec_nanos() > 0);
    let seconds = settings.time.as_secs().saturating_add(rounded);
    set(Resource::Cpu, seconds.max(1))?;
    set(Resource::Data, settings.memory)?;
    // A worker that runs into a limit must not fill the disk.
    set(Resource::Core, 0)?;
    Ok(())
}

#[cfg(not(unix))]
fn bound(_settings: &Settings) -> io::Result<()> {
    Ok(())
}
