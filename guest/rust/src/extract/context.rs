use std::marker::PhantomData;

use crate::context::Context;
use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::guard::{DeclaredGuard, Guard, Guarded};

/// A type that handlers can take as an argument, made with the context of the request, so that it may call events:
/// [`Guarded`](crate::Guarded), and types of yours.
///
/// An implementation for every form awaits the functions of [`ModuleForm`]. One that is for `Blocking` or `Async` alone is an
/// argument in modules of that form. A type that calls nothing implements [`FromRequest`](crate::FromRequest) instead.
///
/// ```
/// use pointwork_guest::form::ModuleForm;
/// use pointwork_guest::{Context, Failure, FromContext, controller, events, module};
///
/// events! { pub TenantOf = "db:tenant": String => u64; }
///
/// struct Tenant(u64);
///
/// impl<F: ModuleForm> FromContext<F> for Tenant {
///     async fn from_context(ctx: &Context<F>, _argument: &'static str) -> Result<Self, Failure> {
///         let host = ctx.authority().unwrap_or_default();
///         F::call::<TenantOf>(ctx, host).await.map(Tenant)
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders")]
/// impl Orders {
///     #[get]
///     fn list(tenant: Tenant) -> String {
///         format!("the orders of {}", tenant.0)
///     }
/// }
///
/// module! { Orders; uses: TenantOf }
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made with a context of the form `{F}`",
    note = "implement `FromContext<F>` for it, with `F: ModuleForm` for both forms"
)]
pub trait FromContext<F: ModuleForm>: Sized {
    /// The guard whose value it is.
    #[doc(hidden)]
    const GUARD: Option<&'static DeclaredGuard> = None;

    /// Makes the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// There is no such value. The error is the reply.
    fn from_context(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<Self, Failure>>;
}

/// A type that handlers can also take as an `Option`, made with the context of the request: `None` if the request does not
/// have the value. What is malformed is an error.
///
/// A guard has no such value: it refuses a request with an error. Take `Result<Guarded<SignedIn>, Failure>`.
///
/// ```
/// use pointwork_guest::form::ModuleForm;
/// use pointwork_guest::{Context, Failure, OptionalFromContext, controller, events, module};
///
/// events! { pub UserOf = "db:user": String => u64; }
///
/// struct User(u64);
///
/// impl<F: ModuleForm> OptionalFromContext<F> for User {
///     async fn optional_from_context(ctx: &Context<F>, _argument: &'static str) -> Result<Option<Self>, Failure> {
///         match ctx.header("x-token") {
///             Some(token) => F::call::<UserOf>(ctx, token).await.map(|id| Some(User(id))),
///             None => Ok(None),
///         }
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders")]
/// impl Orders {
///     #[get]
///     fn list(user: Option<User>) -> String {
///         user.map_or_else(|| "sign in".into(), |user| format!("the orders of {}", user.0))
///     }
/// }
///
/// module! { Orders; uses: UserOf }
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`Option<{Self}>` cannot be made with a context of the form `{F}`",
    note = "implement `OptionalFromContext<F>` for `{Self}`, with `F: ModuleForm` for both forms"
)]
pub trait OptionalFromContext<F: ModuleForm>: Sized {
    /// Makes the value. `argument` is the name of the handler's argument.
    ///
    /// # Errors
    ///
    /// The value is malformed, or a call failed. The error is the reply.
    fn optional_from_context(
        context: &Context<F>,
        argument: &'static str,
    ) -> impl Future<Output = Result<Option<Self>, Failure>>;
}

/// `None` if the request does not have the value.
impl<F: ModuleForm, T: OptionalFromContext<F>> FromContext<F> for Option<T> {
    fn from_context(context: &Context<F>, argument: &'static str) -> impl Future<Output = Result<Self, Failure>> {
        T::optional_from_context(context, argument)
    }
}

/// The handler runs and gets the failure, also that of a guard: then the argument guards nothing.
impl<F: ModuleForm, T: FromContext<F>> FromContext<F> for Result<T, Failure> {
    const GUARD: Option<&'static DeclaredGuard> = Some(&Unlisted::<F, T>::DECLARED);

    async fn from_context(context: &Context<F>, argument: &'static str) -> Result<Self, Failure> {
        Ok(T::from_context(context, argument).await)
    }
}

/// The guard of an argument that lets every request pass: its events are those of the block, and the routes do not list it.
struct Unlisted<F, T>(PhantomData<(F, T)>);

impl<F: ModuleForm, T: FromContext<F>> Unlisted<F, T> {
    const DECLARED: DeclaredGuard = match T::GUARD {
        Some(guard) => DeclaredGuard {
            is_listed: false,
            ..*guard
        },
        None => DeclaredGuard::NONE,
    };
}

impl<F: ModuleForm, G: Guard> FromContext<F> for Guarded<G> {
    const GUARD: Option<&'static DeclaredGuard> = Some(&G::DECLARED);

    fn from_context(context: &Context<F>, _argument: &'static str) -> impl Future<Output = Result<Self, Failure>> {
        Self::checked(context)
    }
}
