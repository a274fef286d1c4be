use pointwork_guest::form::ModuleForm;
use pointwork_guest::{Context, Failure, FromContext, Guarded, controller};

struct NoGuard;

struct Shop;

#[controller("shop")]
impl Shop {
    #[get]
    fn show(_user: Guarded<NoGuard>) -> &'static str {
        ""
    }
}

struct Tenant;

impl<F: ModuleForm> FromContext<F> for Tenant {
    async fn from_context(_ctx: &Context<F>, _argument: &'static str) -> Result<Self, Failure> {
        Ok(Self)
    }
}

struct Tenants;

#[controller("tenants")]
impl Tenants {
    #[get]
    fn show(_tenant: Option<Tenant>) -> &'static str {
        ""
    }
}

fn main() {}
