//! Native unit tests of asynchronous handlers.

use pointwork_guest::testing::TestRequest;
use rust_async::{AllProducts, Health, Product, ProductById, ProductViewed, Products, Send, Wait, Waits};

fn tea() -> Product {
    Product {
        id: 7,
        name: "tea".into(),
        price: 2.5,
    }
}

#[test]
fn a_called_event_is_awaited() {
    let answer = TestRequest::get("/products")
        .on::<AllProducts>(|()| vec![tea()])
        .run::<Products>();
    assert_eq!(answer.json::<Vec<Product>>(), [tea()]);
    assert_eq!(
        TestRequest::get("/waits/5").on::<Wait>(|_| ()).run::<Waits>().text(),
        "waited"
    );
}

#[test]
fn an_owned_context_lives_through_the_handler() {
    let answer = TestRequest::get("/products/7")
        .on::<ProductById>(|_| Some(tea()))
        .run::<Products>();
    assert_eq!(
        (answer.json::<Product>(), answer.emitted::<ProductViewed>()),
        (tea(), vec![7])
    );
}

#[test]
fn a_body_is_read_in_the_asynchronous_form() {
    assert_eq!(
        TestRequest::post("/products").json(&tea()).run::<Products>().status(),
        201
    );
    assert_eq!(
        TestRequest::post("/waits/count")
            .body(vec![1; 10_000])
            .run::<Waits>()
            .text(),
        "10000"
    );
}

#[test]
fn plain_functions_stand_beside_asynchronous_ones() {
    assert_eq!(TestRequest::get("/products/7/id").run::<Products>().text(), "7");
    assert_eq!(TestRequest::get("/health").run::<Health>().text(), "up, GET");
}

#[test]
fn a_reply_can_be_streamed_or_handed_over() {
    assert_eq!(
        TestRequest::get("/waits/streamed").run::<Waits>().text(),
        "one two three"
    );
    let answer = TestRequest::get("/waits/given-away").run::<Waits>();
    assert_eq!(answer.handed_over::<Send>().as_deref(), Some("by the channel"));
}
