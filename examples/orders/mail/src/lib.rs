//! The mail service: it listens to orders, and shows the mails.

use orders_events::{Mail, Mails, Order, OrderPlaced, RecordMail};
use pointwork_guest::{Context, Delivery, Failure, HttpStatus, Json, channel, controller, module};

struct Orders;

#[channel("mail")]
impl Orders {
    /// An order may be delivered twice, and its mail is recorded once: the database has one for each id of an event.
    #[on(OrderPlaced)]
    fn order(delivery: &Delivery, order: Order) -> Result<(), Failure> {
        if !order.to.contains('@') {
            // A failure of 400 to 499 is not tried again: the order is a dead letter.
            return Err(Failure::new(
                HttpStatus::BAD_REQUEST,
                format!("`{}` is no address", order.to),
            ));
        }
        let mail = Mail {
            event: delivery.id(),
            to: order.to,
            text: format!("Your {} is on its way.", order.item),
        };
        delivery.call::<RecordMail>(mail)?;
        Ok(())
    }
}

struct Sent;

#[controller("mails")]
impl Sent {
    #[get]
    fn list(ctx: &Context) -> Result<Json<Vec<Mail>>, Failure> {
        ctx.call::<Mails>(()).map(Json)
    }
}

module! { Sent; channels: Orders }

#[test]
fn an_order_without_an_address_fails_for_good() {
    let order = |to: &str| Order {
        id: 7,
        item: "tea".to_owned(),
        to: to.to_owned(),
    };
    let delivered = |to| {
        let event = pointwork_guest::testing::TestEvent::new::<OrderPlaced>(order(to));
        event.on::<RecordMail>(|_| None).run::<Orders>()
    };
    assert_eq!(delivered("nobody").failure().map(|failure| failure.status()), Some(400));
    assert!(delivered("ada@example.com").failure().is_none());
}
