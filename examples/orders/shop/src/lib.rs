//! The shop takes orders and emits an event for each. The listener of the channel `mail` runs in another process.

use orders_events::{Order, OrderPlaced};
use pointwork_guest::{Context, HttpStatus, Json, controller, module};

struct Orders;

#[controller("orders")]
impl Orders {
    /// The reply waits until the event is recorded. The status 202 promises the mail, even if every process is killed.
    #[post]
    fn place(ctx: &Context, Json(order): Json<Order>) -> (HttpStatus, Json<Order>) {
        ctx.emit::<OrderPlaced>(order.clone());
        (HttpStatus::ACCEPTED, Json(order))
    }
}

module! { Orders }
