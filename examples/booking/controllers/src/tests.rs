//! The tests run natively, without a host: they answer the events that the controllers call.

use super::*;
use pointwork_guest::testing::TestRequest;
use serde_json::{Value, json};

fn by_ada(request: TestRequest) -> TestRequest {
    let request = request.header("authorization", "Bearer tea");
    request.on::<UserOf>(|token| (token == "tea").then(|| "ada".to_owned()))
}

#[test]
fn client_without_a_known_token_is_refused() {
    let request = || TestRequest::get("/bookings").on::<UserOf>(|_| None);
    for request in [request(), request().header("authorization", "Bearer milk")] {
        assert_eq!(request.run::<Bookings>().status(), 401);
    }
}

#[test]
fn booking_is_created() {
    let request = by_ada(TestRequest::post("/bookings")).json(&json!({"room": "tower", "nights": 2}));
    let request = request.on::<Book>(|booking| Booking { id: 7, booking });
    let answer = request.run::<Bookings>();
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.header("location").as_deref(), Some("/bookings/7"));
    assert_eq!(answer.json::<Value>(), json!({"id": 7, "room": "tower", "nights": 2}));
}

#[test]
fn every_field_that_is_not_valid_is_listed() {
    let request = by_ada(TestRequest::post("/bookings/form")).form(&[("room", ""), ("nights", "99")]);
    let answer = request.run::<Bookings>();
    let fields = json!([
        {"field": "nights", "message": "greater than 14"},
        {"field": "room", "message": "length is lower than 1"},
    ]);
    assert_eq!(answer.status(), 422);
    assert_eq!(answer.json::<Value>()["fields"], fields);
}

#[test]
fn picture_is_sent_unless_the_client_has_it() {
    let target = format!("/bookings/pictures/{}", Uuid::nil());
    let request = || by_ada(TestRequest::get(&target)).on::<PictureById>(|_| Payload::new("image/png", *b"PNG"));
    let answer = request().run::<Bookings>();
    assert_eq!(answer.header("content-type").as_deref(), Some("image/png"));
    assert_eq!(answer.bytes(), b"PNG");
    let tag = answer.header("etag").expect("it has a tag");
    assert_eq!(request().header("if-none-match", tag).run::<Bookings>().status(), 304);
}
