//! Native unit tests of controllers, without a host, as an author writes them.

use pointwork_guest::Failure;
use pointwork_guest::testing::TestRequest;
use rust_basic::{
    AllProducts, Health, Methods, NewProduct, Product, ProductById, ProductViewed, Products, Replies, Send,
};

fn tea() -> Product {
    Product {
        id: 7,
        name: "tea".into(),
        price: 2.5,
    }
}

#[test]
fn a_called_event_answers_the_handler() {
    let answer = TestRequest::get("/products")
        .on::<AllProducts>(|()| vec![tea()])
        .run::<Products>();
    assert_eq!((answer.status(), answer.json::<Vec<Product>>()), (200, vec![tea()]));
}

#[test]
fn a_literal_beats_a_parameter() {
    let answer = TestRequest::get("/products/search?text=black+tea&tag=a&tag=b").run::<Products>();
    assert_eq!(answer.text(), "black tea, page 0, tags a+b");
}

#[test]
fn an_emitted_event_is_seen() {
    let answer = TestRequest::get("/products/7")
        .on::<ProductById>(|_| Some(tea()))
        .run::<Products>();
    assert_eq!(
        (answer.json::<Product>(), answer.emitted::<ProductViewed>()),
        (tea(), vec![7])
    );
}

#[test]
fn a_thrown_error_is_status_and_message() {
    let answer = TestRequest::get("/products/8")
        .on::<ProductById>(|_| None)
        .run::<Products>();
    assert_eq!(
        (answer.status(), answer.text().as_str()),
        (404, r#"{"message":"no such product"}"#)
    );
}

#[test]
fn a_failed_call_keeps_its_details_from_the_client() {
    let answer = TestRequest::get("/products")
        .fail::<AllProducts>(Failure::with_code("failed", 500_u16, "table `product` is gone"))
        .run::<Products>();
    assert_eq!(
        (answer.status(), answer.message()),
        (500, Some("the server could not answer the request"))
    );
}

#[test]
fn a_path_parameter_that_does_not_parse_is_named() {
    let answer = TestRequest::get("/products/x/id").run::<Products>();
    let message = "path parameter `id`: invalid digit found in string, got `x`";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
}

#[test]
fn a_query_field_that_does_not_parse_is_named() {
    let answer = TestRequest::get("/products/search?text=tea&page=first").run::<Products>();
    assert_eq!(answer.message(), Some("query: `page`: invalid digit found in string"));
    let answer = TestRequest::get("/products/search").run::<Products>();
    assert_eq!(answer.message(), Some("query: missing field `text`"));
}

#[test]
fn a_body_field_that_does_not_fit_is_named_with_its_place() {
    let answer = TestRequest::post("/products")
        .body(r#"{"name":"tea","price":"two"}"#)
        .run::<Products>();
    let message = "body: `price`: invalid type: string \"two\", expected f64 at line 1 column 27";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
    let answer = TestRequest::post("/products").body("{").run::<Products>();
    assert_eq!(
        answer.message(),
        Some("body: EOF while parsing an object at line 1 column 1")
    );
}

#[test]
fn a_body_of_another_type_is_415() {
    let answer = TestRequest::post("/products")
        .header("content-type", "text/plain")
        .body("{}")
        .run::<Products>();
    let message = "body: expected `content-type: application/json`, got `text/plain`";
    assert_eq!((answer.status(), answer.message()), (415, Some(message)));
}

#[test]
fn a_status_with_a_value_is_a_reply() {
    let new = NewProduct {
        name: "tea".into(),
        price: 2.5,
    };
    let answer = TestRequest::post("/products").json(&new).run::<Products>();
    assert_eq!((answer.status(), answer.json::<Product>()), (201, tea()));
}

#[test]
fn every_entry_of_a_list_is_a_route() {
    for path in ["/products/7", "/products/7/all"] {
        assert_eq!(TestRequest::delete(path).run::<Products>().status(), 204);
    }
}

#[test]
fn a_handler_may_have_several_attributes() {
    for method in ["PROPFIND", "LOCK", "NOTIFY"] {
        assert_eq!(
            TestRequest::new(method, "/products/7").run::<Products>().text(),
            format!("{method} 7")
        );
    }
}

#[test]
fn all_answers_every_method() {
    assert_eq!(TestRequest::new("BREW", "/health").run::<Health>().text(), "up");
    assert_eq!(
        TestRequest::new("MOVE", "/health/moved").run::<Health>().text(),
        "moved"
    );
    assert_eq!(
        TestRequest::new("MOVE", "/health/moved-too").run::<Health>().text(),
        "moved too"
    );
}

#[test]
fn every_attribute_has_its_handler() {
    for method in [
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "HEAD",
        "OPTIONS",
        "TRACE",
        "CONNECT",
        "PURGE",
        "SEARCH",
        "PROPFIND",
        "PROPPATCH",
        "MKCOL",
        "COPY",
        "MOVE",
        "LOCK",
        "UNLOCK",
        "ACL",
        "REPORT",
    ] {
        let answer = TestRequest::new(method, "/methods").run::<Methods>();
        assert_eq!(answer.text(), method.to_lowercase());
        let answer = TestRequest::new(method, "/methods/mapped").run::<Methods>();
        assert_eq!(answer.text(), method);
    }
    assert_eq!(TestRequest::new("BREW", "/methods").run::<Methods>().text(), "all");
}

#[test]
fn a_sent_reply_counts_and_a_second_one_is_refused() {
    let answer = TestRequest::get("/replies/sent").run::<Replies>();
    assert_eq!(
        (answer.status(), answer.text().as_str(), answer.replied_twice()),
        (202, "sent", false)
    );
    assert_eq!(TestRequest::get("/replies/twice").run::<Replies>().text(), "first");
}

#[test]
fn a_context_can_be_handed_over() {
    let answer = TestRequest::get("/replies/given-away").run::<Replies>();
    assert!(answer.is_open());
    assert_eq!(answer.handed_over::<Send>().as_deref(), Some("by the channel"));
}

#[test]
fn nothing_is_no_reply_and_none_is_404() {
    assert!(TestRequest::get("/replies/nothing").run::<Replies>().is_open());
    assert_eq!(TestRequest::get("/replies/none").run::<Replies>().status(), 404);
}

#[test]
fn a_reply_can_be_written_chunk_by_chunk() {
    let answer = TestRequest::get("/replies/streamed").run::<Replies>();
    assert_eq!((answer.text().as_str(), answer.is_finished()), ("one two three", true));
}

#[test]
fn a_body_can_be_read_whole_or_chunk_by_chunk() {
    assert_eq!(
        TestRequest::post("/replies/count")
            .body(vec![1; 10_000])
            .run::<Replies>()
            .text(),
        "10000"
    );
    let answer = TestRequest::post("/replies/echo")
        .header("content-type", "text/csv")
        .body("a,b")
        .run::<Replies>();
    assert_eq!(
        (answer.text().as_str(), answer.header("content-type").as_deref()),
        ("a,b", Some("text/csv"))
    );
}

#[test]
fn the_rest_of_a_path_is_captured_decoded() {
    let answer = TestRequest::get("/replies/request/a%2Fb/c?q=1").run::<Replies>();
    let expected = "GET /replies/request/a%2Fb/c q=1 /replies/request/*rest [(\"rest\", \"a/b/c\")] Some(\"request\")";
    assert_eq!(
        (answer.text().as_str(), answer.extension("seen-by").as_deref()),
        (expected, Some("request"))
    );
}

#[test]
#[should_panic(expected = "no route of `Health` matches `GET /nowhere`")]
fn a_request_to_nowhere_names_the_routes() {
    let _ = TestRequest::get("/nowhere").run::<Health>();
}
