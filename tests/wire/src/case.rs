//! A case, and the runner of all cases.

use std::cell::Cell;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use pointwork_test_runner::{Failed, Trial, panic_message, run};

use crate::adapters::{ADAPTERS, On};
use crate::broken::{self, Broken};
use crate::differences::Differences;

/// One behaviour, as a function that panics if the behaviour is missing.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file and the function: `paths::a_literal_beats_a_parameter_in_any_order`.
    pub name: String,
    /// The rows of the specification that it proves.
    pub rows: &'static [&'static str],
    run: fn(On),
}

impl Case {
    /// A case of a file, as [`cases!`](crate::cases) defines it.
    pub fn new(module: &str, name: &str, rows: &'static [&'static str], run: fn(On)) -> Self {
        let module = module.rsplit("::").next().unwrap_or(module);
        Self {
            name: format!("{module}::{name}"),
            rows,
            run,
        }
    }

    fn on(&self, on: On) -> Trial {
        let case = self.clone();
        Trial::test(format!("{}::{}", on.name, self.name), move || {
            let run = || caught(|| (case.run)(on));
            let verdict = Differences::declared().judge(on.name, &case.name, run);
            verdict.map_err(Failed::from)
        })
    }
}

/// Runs the common cases on every adapter and the cases of single adapters, as the command line selects them.
pub fn main(own: impl IntoIterator<Item = (&'static str, Vec<Case>)>) -> ExitCode {
    if let Some(code) = crate::apart::serve() {
        return code;
    }
    let common = crate::all();
    let mut trials: Vec<_> = ADAPTERS
        .iter()
        .flat_map(|on| common.iter().map(|case| case.on(*on)))
        .collect();
    for (name, cases) in own {
        let on = ADAPTERS.iter().find(|on| on.name == name).expect("an adapter's name");
        trials.extend(cases.iter().map(|case| case.on(*on)));
    }
    let names = common.iter().map(|case| case.name.clone());
    let names = names.chain(crate::cases::requests::names()).collect();
    trials.push(Trial::test("every_declared_difference_names_a_case", move || {
        Differences::declared()
            .check_names(&names, |name| name.contains("::"))
            .map_err(Failed::from)
    }));
    for Broken { on, caught_by, saying } in broken::ALL {
        let case = common
            .iter()
            .find(|case| case.name == caught_by)
            .expect("the name of a case");
        let run = case.run;
        trials.push(Trial::test(format!("broken::{}", on.name), move || {
            match caught(|| run(on)) {
                Err(failure) if failure.contains(saying) => Ok(()),
                Err(failure) => Err(format!("`{caught_by}` fails, expected `{saying}`: {failure}").into()),
                Ok(()) => Err(format!("`{caught_by}` passes on an adapter that {}", on.name).into()),
            }
        }));
    }
    quiet_panics();
    run(trials)
}

thread_local! {
    /// The place of the last panic of a case on this thread; `None` while no case runs here.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Keeps a panic of a case for the report of its failure; a panic of another thread is printed as usual.
fn quiet_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| match PLACE.take() {
        Some(_) => PLACE.set(info.location().map(ToString::to_string)),
        None => print(info),
    }));
}

/// Runs a case; the error is the message and the place of its panic.
fn caught(run: impl FnOnce()) -> Result<(), String> {
    PLACE.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    let place = PLACE.take().unwrap_or_default();
    outcome.map_err(|panic| format!("{}\nat {place}", panic_message(&*panic)))
}

/// Runs one case on a runtime of its own, on the calling thread.
///
/// # Panics
/// If the runtime does not start, or if the case panics.
pub fn block_on(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(case);
}

/// Lists the cases of a file: defines the function `all`, which returns them.
///
/// `cases! { one, two: A8 }` lists asynchronous functions that take an adapter, with the rows of the specification that
/// they prove. `cases! { own; one, two }` lists functions without arguments, the cases of one adapter alone, and
/// `cases! { by runner; one, two }` runs each of these by a function in place of [`block_on`].
#[macro_export]
macro_rules! cases {
    (own; $($rest:tt)+) => {
        $crate::cases! { by $crate::block_on; $($rest)+ }
    };
    (by $run:path; $($name:ident $(: $($row:ident)+)?),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<$crate::Case> {
            vec![$($crate::Case::new(
                module_path!(),
                stringify!($name),
                &[$($(stringify!($row)),+)?],
                |_| $run($name()),
            )),+]
        }
    };
    ($($name:ident $(: $($row:ident)+)?),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<$crate::Case> {
            vec![$($crate::Case::new(
                module_path!(),
                stringify!($name),
                &[$($(stringify!($row)),+)?],
                |on| $crate::block_on($name(on)),
            )),+]
        }
    };
}
