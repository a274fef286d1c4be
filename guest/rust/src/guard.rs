use std::any::Any;
use std::cell::OnceCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

use crate::context::{AsyncContext, Context};
use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::guards_run::{GuardRun, RunLock};
use crate::reply::Outcome;

/// A guard: code that lets a request pass to its handler, with a value, or refuses it.
///
/// [`#[guard]`](macro@crate::guard) implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a guard",
    label = "expected a type with a `#[guard]` impl block"
)]
pub trait Guard: 'static {
    /// What handlers get of it as [`Guarded`].
    type Value: 'static;

    #[doc(hidden)]
    const DECLARED: DeclaredGuard;

    #[doc(hidden)]
    fn run(context: &Context) -> Result<Self::Value, Failure>;

    #[doc(hidden)]
    fn run_async(context: &AsyncContext) -> impl Future<Output = Result<Self::Value, Failure>>;

    /// Runs the guard, unless the guard ran before for the request. The function is part of the trait so that the compiler
    /// reports a type without `#[guard]` once.
    #[doc(hidden)]
    fn pass(context: &Context) -> Result<(), Failure>;

    #[doc(hidden)]
    fn pass_async(context: &AsyncContext) -> impl Future<Output = Result<(), Failure>>;
}

/// What the host and the checks of `module!` know of a guard, an after-hook or an argument.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct DeclaredGuard {
    /// The key of its name in the metadata of a route: `guard` or `after`.
    pub key: &'static str,
    pub name: &'static str,
    /// The crate and module in which it is, and its name.
    pub path: &'static str,
    /// Whether the metadata of a route has it.
    pub is_listed: bool,
    /// Whether it has the synchronous form only, or needs a guard that has.
    pub blocks: bool,
    /// Whether it has the asynchronous form only, or needs a guard that has.
    pub waits: bool,
    /// The events that it uses, with those of the guards that it needs.
    pub events_used: &'static [Option<&'static str>],
}

impl DeclaredGuard {
    /// For an argument without a guard.
    pub(crate) const NONE: Self = Self {
        key: "",
        name: "",
        path: "",
        is_listed: false,
        blocks: false,
        waits: false,
        events_used: &[],
    };

    /// The path from the root of the crate of `module`; that of a guard of another crate begins with the crate.
    pub const fn shown_in(&self, module: &str) -> &'static str {
        let (path, module) = (self.path.as_bytes(), module.as_bytes());
        let mut at = 0;
        while at < module.len() && module[at] != b':' {
            if at == path.len() || path[at] != module[at] {
                return self.path;
            }
            at += 1;
        }
        if at == path.len() || path[at] != b':' {
            return self.path;
        }
        self.path.split_at(at + 2).1
    }
}

/// Code that sees what became of a request after its handler, and may change it.
///
/// [`#[after]`](macro@crate::after) implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an after-hook",
    label = "expected a type with an `#[after]` impl block"
)]
pub trait AfterHook {
    #[doc(hidden)]
    const DECLARED: DeclaredGuard;

    /// Whether it has arguments beside the outcome, which are made with the context.
    #[doc(hidden)]
    const TAKES_CONTEXT: bool;

    #[doc(hidden)]
    fn run(context: Option<&Context>, outcome: Outcome) -> Outcome;

    #[doc(hidden)]
    fn run_async(context: Option<&AsyncContext>, outcome: Outcome) -> impl Future<Output = Outcome>;
}

/// The value of a guard, as an argument of a handler, of an after-hook or of another guard.
///
/// A guard runs once for a request: where it ran before, the argument is the value that it made then. Otherwise the
/// argument runs it, so that it guards the handler by itself. `Result<Guarded<G>, Failure>` gives the handler the error
/// instead, and guards nothing.
///
/// [`#[guard]`](macro@crate::guard) has an example.
pub struct Guarded<G> {
    /// A [`Checked`] with a value. Without the bound `G: Guard`, the compiler reports a type that does not implement `Guard` once,
    /// and not at each mention of the type.
    checked: Rc<dyn Any>,
    guard: PhantomData<fn() -> G>,
}

/// What a guard made of a request, in the list of the request.
struct Checked<G: Guard> {
    result: OnceCell<Result<G::Value, Failure>>,
    lock: RunLock,
    before: Option<Rc<dyn GuardRun>>,
}

impl<G: Guard> GuardRun for Checked<G> {
    fn before(&self) -> Option<&Rc<dyn GuardRun>> {
        self.before.as_ref()
    }
}

impl<G: Guard> Guarded<G> {
    /// The value of a guard that did not run, for tests that call a function.
    pub fn new(value: G::Value) -> Self {
        Self::of(Rc::new(Checked::<G> {
            result: OnceCell::from(Ok(value)),
            lock: RunLock::default(),
            before: None,
        }))
    }

    /// Runs the guard, unless it ran before for the request. While it runs for another argument, waits for its end.
    pub(crate) async fn checked<F: ModuleForm>(context: &Context<F>) -> Result<Self, Failure> {
        let checked = Self::find(context);
        if checked.result.get().is_none() {
            let _permit = checked.lock.acquire().await;
            if checked.result.get().is_none() {
                let result = F::run::<G>(context).await;
                let _ = checked.result.set(result);
            }
        }
        match checked.result.get() {
            Some(Err(failure)) => Err(failure.clone()),
            _ => Ok(Self::of(checked)),
        }
    }

    fn of(checked: Rc<Checked<G>>) -> Self {
        Self {
            checked,
            guard: PhantomData,
        }
    }

    /// The guard in the list of the request, where it is added if it is not there.
    fn find<F>(context: &Context<F>) -> Rc<Checked<G>> {
        let last = context.guards.last();
        let mut next = last.clone();
        while let Some(ran) = next {
            let any: Rc<dyn Any> = Rc::clone(&ran) as _;
            match any.downcast::<Checked<G>>() {
                Ok(checked) => return checked,
                Err(_) => next = ran.before().cloned(),
            }
        }
        let checked = Rc::new(Checked {
            result: OnceCell::new(),
            lock: RunLock::default(),
            before: last,
        });
        context.guards.set_last(Rc::clone(&checked) as _);
        checked
    }
}

impl<G: Guard> Deref for Guarded<G> {
    type Target = G::Value;

    fn deref(&self) -> &G::Value {
        let checked = self.checked.downcast_ref::<Checked<G>>();
        match checked.and_then(|checked| checked.result.get()) {
            Some(Ok(value)) => value,
            _ => unreachable!("only a guard that let the request pass has a `Guarded`"),
        }
    }
}

impl<G: Guard<Value: fmt::Debug>> fmt::Debug for Guarded<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&**self).finish()
    }
}
