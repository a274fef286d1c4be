//! Compiles a module once for all programs.
//!
//! Components that differ in their program alone have the same code. This worker compiles the module without a program, keeps the
//! code in a file, and writes the program of each component into a copy of the code. It does so between the application and the
//! worker of the crate `pointwork`, and passes everything else on.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, process};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::slot;

/// The first argument of this worker, and that of the worker behind it.
const WITH_PROGRAM: &str = "compile-with-a-program";
const COMPILE: &str = "compile";

/// The beginning of an answer with code.
const CODE: &[u8] = b"pw-code 2 {\"Code\"";

/// The length of the place at the end of a file.
const PLACE: u64 = size_of::<u64>() as u64;

/// The variable that debug builds of `pointwork` read: a JSON array with a program and its arguments.
pub(super) const VARIABLE: &str = "POINTWORK_DEBUG_COMPILER";

/// The command of this worker: the program `suite-compiler` that cargo built beside the tests, and its arguments, which are the folder
/// of its files and the places of programs in the modules.
pub(super) fn command(directory: &Path, places: &[usize]) -> Vec<String> {
    let tests = env::current_exe().expect("the program has a path");
    // target/debug/deps/tests
    let program = tests.ancestors().nth(2).expect("a folder above").join("suite-compiler");
    assert!(
        program.exists(),
        "`{}` is missing: run `cargo build --workspace --bins`",
        program.display()
    );
    let path = |path: &Path| path.to_str().expect("a path is UTF-8").to_owned();
    let first = [path(&program), WITH_PROGRAM.to_owned(), path(directory)];
    first.into_iter().chain(places.iter().map(usize::to_string)).collect()
}

/// The main function of the worker: compiles one component for the application that started it.
///
/// # Errors
/// If it was started in another way, or the component cannot be compiled.
pub fn compile() -> Result<()> {
    let mut arguments = env::args().skip(1);
    match arguments.next().as_deref() {
        Some(COMPILE) => Ok(pointwork::compile_worker()?),
        Some(WITH_PROGRAM) => {
            let directory = arguments.next().context("no folder")?;
            let places: Result<Vec<usize>, _> = arguments.map(|place| place.parse()).collect();
            answer(Path::new(&directory), &places?)
        }
        _ => bail!("tests start this program to compile a component"),
    }
}

fn answer(directory: &Path, places: &[usize]) -> Result<()> {
    let mut input = io::stdin().lock();
    let mut request = Vec::new();
    input.read_until(b'\n', &mut request)?;
    let settings = request
        .iter()
        .position(|&byte| byte == b'{')
        .context("a request has settings")?;
    let settings: Value = serde_json::from_slice(&request[settings..])?;
    let length = settings["component"].as_u64().context("the length of the component")?;
    let head = request.len();
    request.reserve_exact(usize::try_from(length)?);
    input.take(length).read_to_end(&mut request)?;
    let place = places.iter().find(|place| slot::is_at(&request[head..], **place));
    let program = place.map(|place| slot::take(&mut request[head..], *place));
    let mut kept = kept(directory, &request)?;
    let length = kept.metadata()?.len().checked_sub(PLACE).context("a file of code")?;
    let mut place = [0; size_of::<u64>()];
    kept.read_exact_at(&mut place, length)?;
    let place = u64::from_le_bytes(place);
    // The kernel moves the code from the file to the pipe, which it does not do for the buffered output.
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // The answer for a component that does not compile has no place.
    if let Some(program) = program.filter(|_| place > 0) {
        let text = place + slot::MARK as u64;
        io::copy(&mut (&kept).take(text), &mut output)?;
        output.write_all(&program)?;
        kept.seek(SeekFrom::Start(text + program.len() as u64))?;
    }
    let rest = length - kept.stream_position()?;
    io::copy(&mut kept.take(rest), &mut output)?;
    Ok(())
}

/// The file with the answer to a request. The last eight bytes of the file are the place of the program in the answer.
fn kept(directory: &Path, request: &[u8]) -> Result<File> {
    let file = directory.join(format!("{}.code", blake3::hash(request).to_hex()));
    let lock = File::create(file.with_extension("lock"))?;
    // Cases run at the same time, and may run in several processes.
    lock.lock().context("the file of compiled code cannot be locked")?;
    if let Ok(kept) = File::open(&file) {
        return Ok(kept);
    }
    let mut answer = answer_of_pointwork(request)?;
    let place = slot::find(&answer).unwrap_or_default();
    answer.extend_from_slice(&u64::try_from(place)?.to_le_bytes());
    if !answer.starts_with(CODE) {
        // Another build may compile it.
        let mut refusal = tempfile::tempfile()?;
        refusal.write_all(&answer)?;
        refusal.rewind()?;
        return Ok(refusal);
    }
    // The file is renamed into place, so its final name always holds a whole file.
    fs::write(file.with_extension("fresh"), &answer)?;
    fs::rename(file.with_extension("fresh"), &file)?;
    Ok(File::open(file)?)
}

/// The answer of a worker of the crate `pointwork`.
fn answer_of_pointwork(request: &[u8]) -> Result<Vec<u8>> {
    let mut child = Command::new(env::current_exe()?)
        .arg(COMPILE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("its input")?;
    let mut output = child.stdout.take().context("its output")?;
    input.write_all(request)?;
    let mut answer = Vec::new();
    output.read_to_end(&mut answer)?;
    // The worker ends with its input.
    drop(input);
    let status = child.wait()?;
    ensure!(
        status.success() && !answer.is_empty(),
        "the worker of process {} ended with {status}",
        process::id()
    );
    Ok(answer)
}
