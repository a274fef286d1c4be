use garde::Validate;
use pointwork_guest::{Delivery, Failure, Form, Json, JsonOrForm, Params, Query, Valid, channel, controller, events, guard};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize, Validate)]
struct Booking {
    #[garde(range(min = 1))]
    nights: u32,
}

#[derive(Deserialize, Validate)]
#[garde(context(u32))]
struct Limited {
    #[garde(skip)]
    _nights: u32,
}

struct Limit;

#[derive(Deserialize, Validate)]
#[garde(context(Limit))]
struct Later {
    #[garde(skip)]
    _nights: u32,
}

events! {
    pub Booked = "log:booked": Booking;
}

struct Checked;

#[guard]
impl Checked {
    fn check(_booking: &Query<Booking>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Bookings;

#[controller("bookings")]
impl Bookings {
    #[post("json")]
    fn json(booking: Json<Booking>) -> String {
        booking.nights.to_string()
    }

    #[post("list")]
    fn list(bookings: &Option<Json<Vec<Booking>>>) -> String {
        bookings.is_some().to_string()
    }

    #[post("form")]
    fn form(booking: Result<Form<Booking>, Failure>) -> String {
        booking.is_ok().to_string()
    }

    #[post("either")]
    fn either(_booking: JsonOrForm<Limited>) -> &'static str {
        ""
    }

    #[get("query")]
    fn query(booking: Query<Booking>) -> String {
        booking.nights.to_string()
    }

    #[get("params/:nights")]
    fn params(booking: Params<Booking>) -> String {
        booking.nights.to_string()
    }

    #[post("fine")]
    fn fine(booking: Option<Valid<Json<Booking>>>) -> String {
        booking.is_some().to_string()
    }

    #[post("later")]
    fn later(_booking: Json<Later>) -> &'static str {
        ""
    }
}

struct Log;

#[channel("log")]
impl Log {
    #[on(Booked)]
    fn booked(_delivery: &Delivery, _booking: Booking) {}

    #[on("fine")]
    fn fine(_booking: &Valid<Booking>) {}
}

fn main() {}
