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

/// Runs the guard, unless it ran before for the request.
impl<F: ModuleForm, G: Guard> FromContext<F> for Guarded<G> {
    const GUARD: Option<&'static DeclaredGuard> = Some(&G::DECLARED);

    async fn from_context(context: &Context<F>, _argument: &'static str) -> Result<Self, Failure> {
        match Self::known(context) {
            Some(known) => known,
            None => Self::keep(context, F::run::<G>(context).await),
        }
    }
}
