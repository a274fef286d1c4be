//! A case, and the running of all.

use std::future::Future;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::Subject;

/// One behaviour: a function that panics if it is not there.
pub struct Case {
    name: String,
    run: fn(),
}

impl Case {
    /// A case of a module, as [`cases!`](crate::cases) makes it.
    pub fn new(module: &str, name: &str, run: fn()) -> Self {
        let module = module.rsplit("::").next().unwrap_or(module);
        Self {
            name: format!("{module}::{name}"),
            run,
        }
    }
}

/// Runs the common cases on an adapter, and its own, as the arguments of the command line say.
pub fn main<S: Subject>(own: impl IntoIterator<Item = Vec<Case>>) -> ExitCode {
    let cases = crate::all::<S>().into_iter().chain(own.into_iter().flatten());
    let trials = cases.map(|Case { name, run }| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Runs one case on a runtime of its own, on the thread that calls.
///
/// # Panics
/// If the system gives no runtime, and if the case does.
pub fn block_on(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(case);
}

/// Lists the cases of a file: makes the function `all`, which returns them.
///
/// `cases! { one, two }` lists asynchronous functions without arguments; `cases! { by runner; one, two }` has each run by
/// a function of the adapter's in place of [`block_on`]; `cases! { for S; one, two }` lists functions generic over a
/// [`Subject`], and so is `all`.
#[macro_export]
macro_rules! cases {
    (for $subject:ident; $($name:ident),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) fn all<$subject: $crate::Subject>() -> Vec<$crate::Case> {
            vec![$($crate::Case::new(module_path!(), stringify!($name), || {
                $crate::block_on($name::<$subject>());
            })),+]
        }
    };
    (by $run:path; $($name:ident),+ $(,)?) => {
        /// The cases of this file.
        pub(crate) fn all() -> Vec<$crate::Case> {
            vec![$($crate::Case::new(module_path!(), stringify!($name), || $run($name()))),+]
        }
    };
    ($($name:ident),+ $(,)?) => {
        $crate::cases! { by $crate::block_on; $($name),+ }
    };
}
