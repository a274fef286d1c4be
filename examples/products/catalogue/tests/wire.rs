//! The names and the JSON on which the controllers, `pointwork.toml` and the store rely.

use catalogue::events::{OneProduct, ProductViewed, Send};
use catalogue::{Change, NewProduct, Window};
use pointwork_events::Event;
use serde_json::json;

#[test]
fn view_is_the_only_event_that_names_no_channel() {
    assert_eq!(OneProduct::NAME, "db:product:one");
    assert_eq!(Send::NAME, "response:send");
    assert_eq!(ProductViewed::NAME, "product:viewed");
}

#[test]
fn fields_are_the_parameters_of_the_statements() {
    let window = Window { limit: 20, offset: 40 };
    assert_eq!(
        serde_json::to_value(window).ok(),
        Some(json!({"limit": 20, "offset": 40}))
    );
    let change = Change {
        id: 1,
        sku: None,
        name: None,
        price_cents: Some(750),
        description: None,
    };
    let wire = json!({"id": 1, "sku": null, "name": null, "price_cents": 750, "description": null});
    assert_eq!(serde_json::to_value(change).ok(), Some(wire));
}

#[test]
fn new_product_needs_no_description_and_takes_no_id() {
    let new: NewProduct = serde_json::from_value(json!({"sku": "A", "name": "B", "price_cents": 1})).expect("it fits");
    assert_eq!(new.description, "");
    let error = serde_json::from_value::<NewProduct>(json!({"id": 7, "sku": "A", "name": "B", "price_cents": 1}));
    assert!(error.is_err_and(|error| error.to_string().starts_with("unknown field `id`")));
}
