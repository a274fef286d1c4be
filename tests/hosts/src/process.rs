//! A program in another language, driven by messages over its standard input and output.
//!
//! A message is a number of words, each with its length: `2\n4\nload1\n7`. The program's side is in `programs/`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{fmt, io};

use pointwork_suite::logs::{self, Source};
use pointwork_test_clock::real::until_blocking;
use pointwork_test_runner::list_threads;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracing::Level;

use crate::calls::Calls;
use crate::shadow::Shadow;

/// The words of a message.
pub type Words = Vec<Vec<u8>>;

/// A word as text.
pub fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

/// The error of a step, as the program tells it: its text, code and status.
#[derive(Clone, Debug, Default)]
pub struct HostError {
    /// The text.
    pub text: String,
    /// The code of a failure, or nothing.
    pub code: String,
    /// The status of a failure, or 0.
    pub status: u16,
    /// The further fields of a failure as JSON, or nothing.
    pub details: String,
    /// The names and values of its headers.
    pub headers: Words,
}

type Done = Box<dyn FnOnce(Result<Words, HostError>) + Send>;

/// Whatever an application of the program tells, until it is closed.
#[derive(Clone)]
pub struct Case {
    /// Answers for functions that are Rust.
    pub shadow: Arc<Shadow>,
    /// The runtime of the case.
    pub runtime: Handle,
    /// The thread of the case.
    pub thread: ThreadId,
}

/// A running program. It has one application at a time.
pub struct Process {
    name: &'static str,
    input: Mutex<ChildStdin>,
    child: Mutex<Child>,
    waiting: Mutex<HashMap<u64, Done>>,
    last: AtomicU64,
    /// Functions of the case that run, by the numbers of their calls.
    tasks: Mutex<HashMap<String, AbortHandle>>,
    case: Mutex<Option<Case>>,
    calls: Arc<Calls>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({})", self.name)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a program may take for a step: a debug build compiles the components of others meanwhile.
const PATIENCE: Duration = Duration::from_secs(300);

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(name: &'static str, mut command: Command, calls: Arc<Calls>) -> io::Result<Arc<Self>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipe"));
        };
        let process = Arc::new(Self {
            name,
            input: Mutex::new(input),
            child: Mutex::new(child),
            waiting: Mutex::default(),
            last: AtomicU64::default(),
            tasks: Mutex::default(),
            case: Mutex::default(),
            calls,
        });
        let reads = process.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                reads.hear(message);
            }
            let waiting = std::mem::take(&mut *lock(&reads.waiting));
            for done in waiting.into_values() {
                done(Err(reads.ended()));
            }
        });
        Ok(process)
    }

    /// The number of the program's process.
    pub fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Begins a case, or ends it.
    pub fn serve(&self, case: Option<Case>) {
        *lock(&self.case) = case;
    }

    fn hear(self: &Arc<Self>, mut words: Words) {
        let rest = words.split_off(2.min(words.len()));
        let (Some(kind), Some(id)) = (words.first(), words.get(1)) else {
            return;
        };
        let (kind, id) = (text(kind), text(id));
        let case = || lock(&self.case).clone();
        match kind.as_str() {
            "done" | "failed" => {
                let done = id.parse().ok().and_then(|id: u64| lock(&self.waiting).remove(&id));
                let Some(done) = done else { return };
                done(match kind.as_str() {
                    "done" => Ok(rest),
                    _ => Err(told(&rest)),
                });
            }
            "log" => {
                if let (Ok(level), Some(line), Some(case)) = (id.parse::<Level>(), rest.first(), case()) {
                    logs::record(level, text(line), case.thread);
                }
            }
            "called" => self.calls.record(id),
            "event" | "request" => {
                let Some(case) = case() else { return };
                let (shadow, process, number) = (case.shadow, self.clone(), id.clone());
                let mut tasks = lock(&self.tasks);
                let task = case.runtime.spawn(async move {
                    let answer = match kind.as_str() {
                        "event" => shadow.event(rest).await,
                        _ => shadow.request(&id, rest).await,
                    };
                    lock(&process.tasks).remove(&id);
                    let mut words = vec![b"answer".to_vec(), id.into_bytes()];
                    words.extend(answer);
                    process.say(&words);
                });
                tasks.insert(number, task.abort_handle());
            }
            "gone" => {
                if let Some(task) = lock(&self.tasks).remove(&id) {
                    task.abort();
                }
            }
            _ => {}
        }
    }

    /// Sends a message. If the program has ended, the waits for its answers fail.
    pub fn say(&self, words: &[Vec<u8>]) {
        let mut message = format!("{}\n", words.len()).into_bytes();
        for word in words {
            message.extend_from_slice(format!("{}\n", word.len()).as_bytes());
            message.extend_from_slice(word);
        }
        let mut input = lock(&self.input);
        let _ = input.write_all(&message).and_then(|()| input.flush());
    }

    fn ask(&self, step: &str, words: Words, done: Done) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.waiting).insert(id, done);
        let mut message = vec![step.as_bytes().to_vec(), id.to_string().into_bytes()];
        message.extend(words);
        self.say(&message);
        let has_ended = matches!(lock(&self.child).try_wait(), Ok(Some(_)));
        if has_ended && let Some(done) = lock(&self.waiting).remove(&id) {
            done(Err(self.ended()));
        }
    }

    /// Has the program take a step.
    ///
    /// # Errors
    /// The program's error, its end, or minutes without an answer.
    #[expect(
        clippy::disallowed_methods,
        reason = "a program may compile a component for longer than other waits last"
    )]
    pub async fn step(&self, step: &str, words: Words) -> Result<Words, HostError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        self.ask(step, words, done);
        match tokio::time::timeout(PATIENCE, receiver).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(self.ended())),
            Err(_) => Err(self.silent(step)),
        }
    }

    /// The same on the calling thread, for a step that takes no time.
    ///
    /// # Errors
    /// As of [`step`](Self::step).
    pub fn step_now(&self, step: &str) -> Result<Words, HostError> {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        self.ask(step, Words::new(), done);
        receiver
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| Err(self.silent(step)))
    }

    fn ended(&self) -> HostError {
        // A process closes its output before the system tells its end.
        let status = until_blocking("the program ends", || lock(&self.child).try_wait().ok().flatten());
        match status {
            Ok(status) => self.error(format!("ended: {status}")),
            Err(_) => self.error("closed its output".to_owned()),
        }
    }

    /// The error lists the threads of the program, because a deadlock may not occur again under a debugger.
    fn silent(&self, step: &str) -> HostError {
        self.error(format!(
            "does not answer `{step}`; its threads:\n{}",
            list_threads(self.id())
        ))
    }

    fn error(&self, what: String) -> HostError {
        HostError {
            text: format!("the program of {} {what}", self.name),
            ..HostError::default()
        }
    }

    /// Ends the program, by force.
    pub fn kill(&self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Source for Process {
    fn catch_up(&self) {
        // Its lines stand before its answer, and one thread reads both.
        let _ = self.step_now("status");
    }
}

fn told(words: &[Vec<u8>]) -> HostError {
    let word = |index: usize| words.get(index).map(|word| text(word)).unwrap_or_default();
    HostError {
        text: word(0),
        code: word(1),
        status: word(2).parse().unwrap_or_default(),
        details: word(3),
        headers: words.iter().skip(4).cloned().collect(),
    }
}

fn number(input: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    line.trim_end().parse().ok()
}

fn read(input: &mut impl BufRead) -> Option<Words> {
    let count = number(input)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(input)?];
        input.read_exact(&mut word).ok()?;
        words.push(word);
    }
    Some(words)
}
