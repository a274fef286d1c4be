//! The declarations of controllers and channels beside their routes and events: body modes, metadata, events used.

use pointwork_guest::{Channel, Context, Controller, Deferred, Delivery, Failure, Json, channel, controller, events};

events! {
    All = "db:product:all": () => Vec<u64>;
    Viewed = "product:viewed": u64;
    Send = "response:send": String;
}

mod other {
    pointwork_guest::events! { pub Noted = "audit:noted": String; }
}

struct Plain;

impl Plain {
    fn call<T: Default>(&self) -> T {
        T::default()
    }
}

struct Products;

/// The products
/// of the shop.
///
/// They are public.
#[controller("products")]
impl Products {
    /// Every product.
    #[get(body = "none")]
    #[request_mapping(method = "REPORT", body = "stream")]
    fn list(ctx: &Context) -> Result<Json<Vec<u64>>, Failure> {
        assert_eq!(Plain.call::<u64>(), 0);
        ctx.call::<All>(()).map(Json)
    }

    #[get([":id", ":id/raw"], body = "stream",)]
    #[deprecated = "use `list`"]
    fn show(ctx: Context) -> Result<Deferred, Failure> {
        Self::note(&ctx);
        ctx.hand_over::<Send>("tea".into())
    }

    #[post]
    fn create(ctx: &Context, body: String) {
        events! { Own = "own:own": String; }
        ctx.emit::<Own>(body).emit::<other::Noted>("created".into());
    }

    fn note(ctx: &Context) {
        ctx.emit::<Viewed>(7);
    }
}

struct Audit;

/// The audit.
#[channel("audit")]
impl Audit {
    /// Notes a text.
    #[on("noted")]
    fn noted(delivery: &Delivery, _text: String) {
        delivery.emit::<Viewed>(7);
    }
}

#[test]
fn a_route_has_the_body_mode_of_its_attribute() {
    let modes: Vec<_> = Products::ROUTES.iter().map(|route| (route.name, route.body)).collect();
    assert_eq!(
        modes,
        [
            ("list", "none"),
            ("list", "stream"),
            ("show", "stream"),
            ("create", "whole")
        ]
    );
    assert_eq!(Products::ROUTES[2].paths, [":id", ":id/raw"]);
}

#[test]
fn docs_are_metadata() {
    assert_eq!(
        Products::METADATA,
        [
            ("summary", "The products of the shop."),
            ("description", "They are public.")
        ]
    );
    assert_eq!(Products::ROUTES[0].metadata, [("summary", "Every product.")]);
    assert_eq!(Products::ROUTES[2].metadata, [("deprecated", "use `list`")]);
    assert_eq!(Audit::METADATA, [("summary", "The audit.")]);
    assert_eq!(Audit::EVENTS[0].metadata, [("summary", "Notes a text.")]);
}

#[test]
fn the_events_of_all_functions_are_used() {
    assert_eq!(
        Products::EVENTS_USED,
        [
            None,
            Some("db:product:all"),
            Some("response:send"),
            Some("audit:noted"),
            Some("product:viewed")
        ]
    );
    assert_eq!(Audit::EVENTS_USED, [Some("product:viewed")]);
}
