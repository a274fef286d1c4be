//! The events that the controllers call, with their types.

use garde::Validate;
use pointwork_events::{Payload, events};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Deserialize, Serialize, Validate)]
pub struct NewBooking {
    #[garde(length(min = 1, max = 40))]
    pub room: String,
    #[garde(range(min = 1, max = 14))]
    pub nights: u32,
}

#[derive(Deserialize, Serialize)]
pub struct Booking {
    pub id: u64,
    #[serde(flatten)]
    pub booking: NewBooking,
}

#[derive(Deserialize, Serialize, Validate)]
pub struct Page {
    #[garde(range(min = 1))]
    pub page: Option<u32>,
}

events! {
    pub UserOf = "accounts:user-of": String => Option<String>;
    pub BookingsOn = "db:booking:page": Page => Vec<Booking>;
    pub BookingById = "db:booking:by-id": u64 => Option<Booking>;
    pub Book = "db:booking:create": NewBooking => Booking;
    pub KeepPicture = "pictures:keep": Payload => Uuid;
    pub PictureById = "pictures:by-id": Uuid => Payload;
}
