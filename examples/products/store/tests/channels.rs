//! Native unit tests of the channels, without a host.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use catalogue::events::{
    AllProducts, CountProducts, CreateProduct, DeleteProduct, OneProduct, ProductViewed, ProductViews, SearchProducts,
    Send, UpdateProduct,
};
use catalogue::{Change, Needle, NewProduct, Product, Size, Views, Window};
use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{Event, Failure, HttpStatus};
use products_store::{Db, Response};

/// Runs the body of the test of that name in a process of its own, with `folder` as `STORE_DIR`. Like an instance, the
/// process opens its store once and never closes it.
fn with_store_in(folder: &Path, test: &str, body: impl FnOnce(&Path)) {
    const MARK: &str = "POINTWORK_EXAMPLE_STORE";
    if let Some(folder) = env::var_os(MARK) {
        return body(&PathBuf::from(folder));
    }
    let output = Command::new(env::current_exe().expect("a program"))
        .args(["--exact", test])
        .env(MARK, folder)
        .env("STORE_DIR", folder)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn output<E: Event>(payload: E::Payload) -> E::Output {
    TestEvent::new::<E>(payload).run::<Db>().output::<E>()
}

fn failure<E: Event>(payload: E::Payload) -> Failure {
    let reaction = TestEvent::new::<E>(payload).run::<Db>();
    reaction.failure().expect("it fails").clone()
}

fn mate() -> NewProduct {
    NewProduct {
        sku: "TEA-MATE".into(),
        name: "Mate".into(),
        price_cents: 550,
        description: String::new(),
    }
}

fn renamed(id: u64, sku: &str) -> Change {
    Change {
        id,
        sku: Some(sku.into()),
        name: None,
        price_cents: None,
        description: None,
    }
}

#[test]
fn every_event_of_the_catalogue_is_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    with_store_in(folder.path(), "every_event_of_the_catalogue_is_heard", |folder| {
        assert_eq!(output::<CountProducts>(()), Size { products: 5 });
        assert!(folder.join("catalogue.redb").exists());
        let skus = output::<AllProducts>(Window { limit: 2, offset: 1 });
        let skus: Vec<String> = skus.into_iter().map(|product: Product| product.sku).collect();
        assert_eq!(skus, ["TEA-SENCHA", "TEA-OOLONG"]);
        let needle = Needle {
            text: "strainer".into(),
            limit: 5,
        };
        assert_eq!(output::<SearchProducts>(needle).len(), 1);

        let created = output::<CreateProduct>(mate());
        assert_eq!(output::<OneProduct>(6), Some(created));
        let changed = output::<UpdateProduct>(renamed(6, "MATE")).expect("it is there");
        assert_eq!((changed.sku.as_str(), changed.name.as_str()), ("MATE", "Mate"));
        output::<ProductViewed>(6);
        assert_eq!(output::<ProductViews>(6), Some(Views { id: 6, views: 1 }));

        assert_eq!(output::<DeleteProduct>(6), 1);
        assert_eq!(output::<DeleteProduct>(6), 0);
        assert_eq!(output::<OneProduct>(6), None);
        assert_eq!(output::<ProductViews>(6), None);
        assert_eq!(output::<UpdateProduct>(renamed(6, "MATE")), None);
    });
}

#[test]
fn failures_have_the_codes_of_the_native_driver() {
    let folder = tempfile::tempdir().expect("a folder");
    with_store_in(folder.path(), "failures_have_the_codes_of_the_native_driver", |_| {
        let new = NewProduct {
            sku: "TEA-ASSAM".into(),
            ..mate()
        };
        let taken = Failure::with_code(
            "conflict",
            HttpStatus::CONFLICT,
            "another product has the SKU `TEA-ASSAM`",
        );
        assert_eq!(failure::<CreateProduct>(new), taken);
        assert_eq!(failure::<UpdateProduct>(renamed(2, "TEA-ASSAM")), taken);
        let new = NewProduct {
            price_cents: -1,
            ..mate()
        };
        let price = Failure::with_code(
            "bad-payload",
            HttpStatus::BAD_REQUEST,
            "`price_cents` must be 0 or more, got -1",
        );
        assert_eq!(failure::<CreateProduct>(new), price);
        let missing = Failure::with_code("conflict", HttpStatus::CONFLICT, "no product has the id 99");
        assert_eq!(failure::<ProductViewed>(99), missing);
    });
}

#[test]
fn store_that_does_not_open_is_tried_again_by_the_next_event() {
    let folder = tempfile::tempdir().expect("a folder");
    with_store_in(
        folder.path(),
        "store_that_does_not_open_is_tried_again_by_the_next_event",
        |folder| {
            let path = folder.join("catalogue.redb");
            fs::write(&path, "no store").expect("written");
            let expected = Failure::new(HttpStatus::INTERNAL_SERVER_ERROR, "the database could not do it");
            assert_eq!(failure::<CountProducts>(()), expected);
            fs::remove_file(&path).expect("removed");
            assert_eq!(output::<CountProducts>(()), Size { products: 5 });
        },
    );
}

#[test]
fn response_replies_with_the_text() {
    let reaction = TestEvent::new::<Send>("Assam (TEA-ASSAM): 6.90\n".into())
        .with_context(TestRequest::get("/products/1/label"))
        .run::<Response>();
    let reply = reaction.reply();
    assert_eq!(
        (reply.status(), reply.text().as_str()),
        (200, "Assam (TEA-ASSAM): 6.90\n")
    );
}

#[test]
fn response_needs_a_request_to_reply_to() {
    let reaction = TestEvent::new::<Send>("Assam".into()).run::<Response>();
    assert_eq!(reaction.failure().map(Failure::status), Some(500));
}
