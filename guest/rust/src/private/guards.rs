//! Guards and after-hooks: what they return, how they run, and what the compiler makes of their declarations.

use super::text::same;
use crate::context::Context;
use crate::controller::Metadata;
use crate::extract::FromContext as _;
use crate::failure::{Failure, IntoFailure};
use crate::form::{Blocking, ModuleForm};
use crate::guard::{DeclaredGuard, Guard, Guarded};
use crate::reply::{IntoOutcome, Outcome};
use crate::request::Request;
use crate::waiting;

/// The return type of a guard.
#[diagnostic::on_unimplemented(
    message = "a guard cannot return `{Self}`",
    label = "expected a `Result`",
    note = "a guard returns `Result<_, Failure>`: the value lets the request pass, and the failure is the reply"
)]
pub trait GuardResult {
    type Value;

    fn into_result(self) -> Result<Self::Value, Failure>;
}

impl<T, E: IntoFailure> GuardResult for Result<T, E> {
    type Value = T;

    fn into_result(self) -> Result<T, Failure> {
        self.map_err(E::into_failure)
    }
}

/// Runs a guard, unless it ran before for the request.
pub async fn guard<F: ModuleForm, G: Guard>(context: &Context<F>) -> Result<(), Failure> {
    Guarded::<G>::from_context(context, "").await.map(drop)
}

/// Runs a guard in the synchronous form.
pub fn guard_now<G: Guard>(context: &Context) -> Result<(), Failure> {
    waiting::now(guard::<Blocking, G>(context))
}

/// The result of a guard for both forms, in the synchronous one.
pub fn now<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    waiting::now(future)
}

/// The outcome of an after-hook for both forms, in the synchronous one.
pub fn outcome_now(future: impl Future<Output = Outcome>) -> Outcome {
    waiting::now(async { Ok(future.await) }).unwrap_or_else(Outcome::Thrown)
}

/// The outcome of a handler whose return type is written as `Result`: an error that does not convert is named.
#[track_caller]
pub fn result_now<T: IntoOutcome, E: IntoFailure>(result: Result<T, E>, request: Option<&Request>) -> Outcome {
    result.outcome_now(request)
}

/// The same in the asynchronous form of a module.
#[track_caller]
pub fn result<T: IntoOutcome, E: IntoFailure>(
    result: Result<T, E>,
    request: Option<&Request>,
) -> impl Future<Output = Outcome> {
    result.outcome(request)
}

/// The outcome with the body that a module gives its errors. Status and headers are those of the error. Where the function
/// fails, or makes a wrong header, the error has the body that it has without the function.
pub fn shaped<R: IntoOutcome>(outcome: Outcome, shape: impl FnOnce(&Failure) -> R) -> Outcome {
    // A return type of the module's own may have made the outcome.
    let failure = match outcome.into_outcome() {
        Outcome::Thrown(failure) => failure,
        outcome => return outcome,
    };
    let failure = failure.for_client();
    match shape(&failure).into_outcome() {
        Outcome::Reply(reply) => {
            let reply = reply.status(failure.status());
            let headers = failure.headers().iter();
            Outcome::Reply(headers.fold(reply, |reply, (name, value)| {
                reply.header(name.as_str(), value.as_slice())
            }))
        }
        Outcome::Thrown(fault) => {
            crate::log::error!("the function behind `errors:` failed: {fault}");
            Outcome::Thrown(failure)
        }
        Outcome::Deferred => Outcome::Thrown(failure),
    }
}

/// A declaration that the compiler finds among the guards, hooks and arguments of a block.
pub type Needed = Option<&'static DeclaredGuard>;

/// A key with its value.
type Entry = (&'static str, &'static str);

/// The number of entries of [`metadata`].
pub const fn metadata_length(own: Metadata, needed: &[Needed]) -> usize {
    let (mut length, mut at) = (own.len(), 0);
    while at < needed.len() {
        if new_entry(needed, at).is_some() {
            length += 1;
        }
        at += 1;
    }
    length
}

/// The metadata of a route in `module`: its guards and hooks, each once, behind its own.
pub const fn metadata<const N: usize>(own: Metadata, needed: &[Needed], module: &str) -> [Entry; N] {
    let mut all = [("", ""); N];
    let mut length = 0;
    while length < own.len() {
        all[length] = own[length];
        length += 1;
    }
    let mut at = 0;
    while at < needed.len() {
        if let Some(declared) = new_entry(needed, at) {
            all[length] = (declared.key, declared.shown_in(module));
            length += 1;
        }
        at += 1;
    }
    all
}

/// A declaration for the metadata, unless an equal one is before it.
const fn new_entry(needed: &[Needed], at: usize) -> Needed {
    let declared = match needed[at] {
        Some(declared) if declared.is_listed => declared,
        _ => return None,
    };
    let mut before = 0;
    while before < at {
        if let Some(other) = needed[before]
            && other.is_listed
            && same(other.key.as_bytes(), declared.key.as_bytes())
            && same(other.path.as_bytes(), declared.path.as_bytes())
        {
            return None;
        }
        before += 1;
    }
    Some(declared)
}

/// An event of the source, or nothing.
type Used = Option<&'static str>;

/// The number of events of [`events`].
pub const fn events_length(own: &[Used], needed: &[Needed]) -> usize {
    let (mut length, mut at) = (own.len(), 0);
    while at < needed.len() {
        if let Some(declared) = needed[at] {
            length += declared.events_used.len();
        }
        at += 1;
    }
    length
}

/// The events of a block with those of its guards.
pub const fn events<const N: usize>(own: &[Used], needed: &[Needed]) -> [Used; N] {
    let mut all = [None; N];
    let mut length = 0;
    while length < own.len() {
        all[length] = own[length];
        length += 1;
    }
    let mut at = 0;
    while at < needed.len() {
        if let Some(declared) = needed[at] {
            let mut event = 0;
            while event < declared.events_used.len() {
                all[length] = declared.events_used[event];
                (length, event) = (length + 1, event + 1);
            }
        }
        at += 1;
    }
    all
}

/// The first declaration that does not fit an asynchronous module, or a synchronous one.
pub const fn first_unfit(needed: &[Needed], is_async: bool) -> Needed {
    let mut at = 0;
    while at < needed.len() {
        if let Some(declared) = needed[at]
            && if is_async { declared.blocks } else { declared.waits }
        {
            return Some(declared);
        }
        at += 1;
    }
    None
}
