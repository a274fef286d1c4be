//! The tests of a binary with a `main` of its own.

use std::any::Any;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fmt};

use libtest_mimic::Arguments;
use serde::{Deserialize, Serialize};

pub use libtest_mimic::Failed;

/// The environment variable with the path of the file to which finished trials are appended.
pub(crate) const TRIAL_LOG: &str = "POINTWORK_TRIAL_LOG";

/// A line of the trial log.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum TrialRecord {
    Started {
        name: String,
    },
    Ended {
        name: String,
        seconds: f64,
        /// The message of the failure.
        failure: Option<String>,
    },
}

/// A test that reports its result and its duration to the runner.
pub struct Trial(libtest_mimic::Trial);

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trial({})", self.0.name())
    }
}

impl Trial {
    /// Creates a test. A panic of `test` counts as a failure.
    #[expect(clippy::disallowed_methods, reason = "the report has the duration of each test")]
    pub fn test(name: impl Into<String>, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Self {
        let name = name.into();
        let reported = name.clone();
        Self(libtest_mimic::Trial::test(name, move || {
            append(&TrialRecord::Started { name: reported.clone() });
            let started = Instant::now();
            let outcome = panic::catch_unwind(AssertUnwindSafe(test));
            let outcome = outcome.unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic)).into()));
            append(&TrialRecord::Ended {
                name: reported,
                seconds: started.elapsed().as_secs_f64(),
                failure: outcome
                    .as_ref()
                    .err()
                    .map(|failed| failed.message().unwrap_or("failed without a message").to_owned()),
            });
            outcome
        }))
    }
}

/// Runs the tests that the command line selects. Without `--test-threads`, one test per core runs at a time.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    let trials = trials.into_iter().map(|trial| trial.0).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn append(record: &TrialRecord) {
    let Some(path) = env::var_os(TRIAL_LOG) else { return };
    let mut line = serde_json::to_string(record).expect("a record is JSON");
    line.push('\n');
    let file = OpenOptions::new().append(true).open(path);
    // A single write keeps the lines of several threads apart.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{record:?} is not written to the trial log: {error}"));
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message")
}
