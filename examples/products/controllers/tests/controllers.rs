//! Native unit tests of the controllers, without a host. Closures are the listeners of the events.

use pointwork_guest::Failure;
use pointwork_guest::testing::TestRequest;
use products::events::{
    AllProducts, CountProducts, CreateProduct, DeleteProduct, OneProduct, ProductViewed, ProductViews, SearchProducts,
    Send, UpdateProduct,
};
use products::{Health, Page, Product, Products, Size, Views};
use serde_json::{Value, json};

fn assam() -> Product {
    Product {
        id: 1,
        sku: "TEA-ASSAM".into(),
        name: "Assam".into(),
        price_cents: 690,
        description: String::new(),
    }
}

#[test]
fn list_is_a_page_of_the_catalogue() {
    let answer = TestRequest::get("/products?page=3&per_page=10")
        .on::<AllProducts>(|window| {
            assert_eq!((window.limit, window.offset), (10, 20));
            vec![assam()]
        })
        .on::<CountProducts>(|()| Size { products: 21 })
        .run::<Products>();
    let page = answer.json::<Page>();
    assert_eq!(
        (page.products, page.page, page.per_page, page.total),
        (vec![assam()], 3, 10, 21)
    );
}

#[test]
fn page_that_cannot_be_is_refused() {
    for query in ["page=0", "per_page=0", "per_page=101"] {
        let answer = TestRequest::get(&format!("/products?{query}")).run::<Products>();
        assert_eq!(answer.status(), 400, "{query}");
    }
    let answer = TestRequest::get("/products?page=first").run::<Products>();
    assert_eq!(answer.message(), Some("query: `page`: invalid digit found in string"));
}

#[test]
fn search_is_no_id() {
    let answer = TestRequest::get("/products/search?q=black+tea")
        .on::<SearchProducts>(|needle| {
            assert_eq!(needle.text, "black tea");
            vec![assam()]
        })
        .run::<Products>();
    assert_eq!(answer.json::<Vec<Product>>(), [assam()]);
    let answer = TestRequest::get("/products/search").run::<Products>();
    assert_eq!(
        (answer.status(), answer.message()),
        (400, Some("query: missing field `q`"))
    );
}

#[test]
fn showing_a_product_counts_as_a_view() {
    let answer = TestRequest::get("/products/1")
        .on::<OneProduct>(|_| Some(assam()))
        .run::<Products>();
    assert_eq!(
        (answer.json::<Product>(), answer.emitted::<ProductViewed>()),
        (assam(), vec![1])
    );
}

#[test]
fn product_that_is_not_there_is_404_and_no_view() {
    let answer = TestRequest::get("/products/9")
        .on::<OneProduct>(|_| None)
        .run::<Products>();
    assert_eq!(
        (answer.status(), answer.message()),
        (404, Some("no product has the id 9"))
    );
    assert!(answer.emitted::<ProductViewed>().is_empty());
    let answer = TestRequest::get("/products/9/views")
        .on::<ProductViews>(|_| None)
        .run::<Products>();
    assert_eq!(answer.status(), 404);
    let answer = TestRequest::delete("/products/9")
        .on::<DeleteProduct>(|_| 0)
        .run::<Products>();
    assert_eq!(answer.status(), 404);
}

#[test]
fn views_are_told() {
    let views = Views { id: 1, views: 12 };
    let answer = TestRequest::get("/products/1/views")
        .on::<ProductViews>(move |_| Some(views))
        .run::<Products>();
    assert_eq!(answer.json::<Views>(), views);
}

#[test]
fn label_is_left_to_the_response_channel() {
    let answer = TestRequest::get("/products/1/label")
        .on::<OneProduct>(|_| Some(assam()))
        .run::<Products>();
    assert!(answer.is_open());
    assert_eq!(
        answer.handed_over::<Send>().as_deref(),
        Some("Assam (TEA-ASSAM): 6.90\n")
    );
}

#[test]
fn created_product_has_a_location() {
    let answer = TestRequest::post("/products")
        .json(&json!({"sku": "TEA-ASSAM", "name": "Assam", "price_cents": 690}))
        .on::<CreateProduct>(|new| {
            assert_eq!(new.description, "");
            assam()
        })
        .run::<Products>();
    assert_eq!((answer.status(), answer.json::<Product>()), (201, assam()));
    assert_eq!(answer.header("location").as_deref(), Some("/products/1"));
}

#[test]
fn second_product_of_one_sku_is_a_conflict() {
    let answer = TestRequest::post("/products")
        .json(&json!({"sku": "TEA-ASSAM", "name": "Assam", "price_cents": 690}))
        .fail::<CreateProduct>(Failure::with_code("conflict", 409_u16, "another row has the same key"))
        .run::<Products>();
    assert_eq!(
        (answer.status(), answer.message()),
        (409, Some("another product has the SKU `TEA-ASSAM`"))
    );
}

#[test]
fn product_that_a_shop_cannot_have_is_refused() {
    let answer = TestRequest::post("/products")
        .json(&json!({"sku": "X", "name": "X", "price_cents": -1}))
        .run::<Products>();
    let message = "body: `price_cents`: expected 0 or more, got -1";
    assert_eq!((answer.status(), answer.message()), (422, Some(message)));
    let answer = TestRequest::patch("/products/1")
        .json(&json!({"name": " "}))
        .run::<Products>();
    assert_eq!(answer.message(), Some("body: `name`: expected 1 to 200 characters"));
}

#[test]
fn body_that_is_no_product_says_where() {
    let answer = TestRequest::post("/products")
        .body(r#"{"sku": "X", "name": 1}"#)
        .run::<Products>();
    let message = "body: `name`: invalid type: integer `1`, expected a string at line 1 column 22";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
}

#[test]
fn update_changes_the_fields_that_are_there_and_replace_all() {
    let request = TestRequest::patch("/products/1").json(&json!({"price_cents": 750}));
    let answer = request
        .on::<UpdateProduct>(|change| {
            assert_eq!((change.id, change.price_cents, change.name), (1, Some(750), None));
            Some(assam())
        })
        .run::<Products>();
    assert_eq!(answer.status(), 200);
    let request = TestRequest::put("/products/1").json(&json!({"sku": "A", "name": "B", "price_cents": 1}));
    let answer = request
        .on::<UpdateProduct>(|change| {
            assert_eq!(
                (change.id, change.sku.as_deref(), change.description.as_deref()),
                (1, Some("A"), Some(""))
            );
            None
        })
        .run::<Products>();
    assert_eq!(answer.status(), 404);
}

#[test]
fn deleted_product_leaves_no_content() {
    let answer = TestRequest::delete("/products/1")
        .on::<DeleteProduct>(|_| 1)
        .run::<Products>();
    assert_eq!((answer.status(), answer.text().as_str()), (204, ""));
}

#[test]
fn health_asks_the_database() {
    let answer = TestRequest::get("/health")
        .on::<CountProducts>(|()| Size { products: 5 })
        .run::<Health>();
    assert_eq!(answer.json::<Value>(), json!({"status": "up", "products": 5}));
    let answer = TestRequest::get("/health")
        .fail::<CountProducts>(Failure::with_code("failed", 500_u16, "disk full"))
        .run::<Health>();
    assert_eq!(
        (answer.status(), answer.message()),
        (503, Some("the database does not answer"))
    );
}
