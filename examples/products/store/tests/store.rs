//! Native tests of the store: the same behaviour as the statements in `pointwork.toml`, and damaged files.

use std::error::Error as _;
use std::fs;
use std::path::PathBuf;

use catalogue::{Change, Needle, NewProduct, Product, Size, Views, Window};
use products_store::{Error, Store};
use tempfile::TempDir;

const NONE: [u64; 0] = [];

/// A new folder, with the path of the file in it.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalogue.redb");
    (folder, path)
}

/// A store after the first start.
fn fresh() -> (TempDir, Store) {
    let (folder, path) = place();
    let store = Store::open(&path).expect("it opens");
    (folder, store)
}

fn mate() -> NewProduct {
    NewProduct {
        sku: "TEA-MATE".into(),
        name: "Mate".into(),
        price_cents: 550,
        description: "500 g".into(),
    }
}

fn nothing(id: u64) -> Change {
    Change {
        id,
        sku: None,
        name: None,
        price_cents: None,
        description: None,
    }
}

fn ids(products: &[Product]) -> Vec<u64> {
    products.iter().map(|product| product.id).collect()
}

fn everything(store: &Store) -> Vec<Product> {
    store.all(Window { limit: 100, offset: 0 }).expect("read")
}

fn found(store: &Store, text: &str) -> Vec<u64> {
    let needle = Needle {
        text: text.into(),
        limit: 100,
    };
    ids(&store.search(&needle).expect("searched"))
}

#[test]
fn first_start_brings_a_few_products() {
    let (_folder, store) = fresh();
    assert_eq!(store.count().ok(), Some(Size { products: 5 }));
    let assam = Product {
        id: 1,
        sku: "TEA-ASSAM".into(),
        name: "Assam".into(),
        price_cents: 690,
        description: "Black tea from the Brahmaputra valley, 100 g".into(),
    };
    assert_eq!(store.one(1).ok(), Some(Some(assam)));
    assert_eq!(store.one(6).ok(), Some(None));
}

#[test]
fn window_is_a_part_in_the_order_of_ids() {
    let (_folder, store) = fresh();
    let part = |limit, offset| ids(&store.all(Window { limit, offset }).expect("read"));
    assert_eq!(part(2, 2), [3, 4]);
    assert_eq!(part(10, 4), [5]);
    assert_eq!(part(0, 0), NONE);
    assert_eq!(part(10, 5), NONE);
    assert_eq!(part(u32::MAX, u64::MAX), NONE);
}

#[test]
fn search_looks_into_names_and_descriptions_whatever_the_case() {
    let (_folder, store) = fresh();
    assert_eq!(found(&store, "GREEN"), [2]);
    assert_eq!(found(&store, "tea"), [1, 2, 3, 4]);
    assert_eq!(found(&store, "TEA-"), NONE, "a SKU is not searched");
    assert_eq!(found(&store, ""), [1, 2, 3, 4, 5]);
    assert_eq!(found(&store, "coffee"), NONE);
    let needle = Needle {
        text: "tea".into(),
        limit: 2,
    };
    assert_eq!(ids(&store.search(&needle).expect("searched")), [1, 2]);
}

#[test]
fn search_has_no_wildcards_and_folds_only_ascii() {
    let (_folder, store) = fresh();
    let new = NewProduct {
        name: "100% Grüner_Tee".into(),
        ..mate()
    };
    store.create(&new).expect("created");
    assert_eq!(found(&store, "%"), [6]);
    assert_eq!(found(&store, "r_t"), [6]);
    assert_eq!(found(&store, "gRüNER"), [6]);
    assert_eq!(found(&store, "GRÜNER"), NONE);
}

#[test]
fn created_product_gets_the_id_after_the_largest() {
    let (_folder, store) = fresh();
    let created = store.create(&mate()).expect("created");
    assert_eq!((created.id, created.sku.as_str()), (6, "TEA-MATE"));
    assert_eq!(store.one(6).ok(), Some(Some(created)));
    store.delete(2).expect("deleted");
    store.delete(6).expect("deleted");
    // As in SQLite without AUTOINCREMENT, the last id is reused, an id in between is not.
    assert_eq!(store.create(&mate()).expect("created").id, 6);
}

#[test]
fn second_product_of_one_sku_is_refused_and_changes_nothing() {
    let (_folder, store) = fresh();
    let new = NewProduct {
        sku: "TEA-ASSAM".into(),
        ..mate()
    };
    let before = everything(&store);
    let error = store.create(&new).expect_err("it is taken");
    assert!(matches!(&error, Error::Taken { sku } if sku == "TEA-ASSAM"));
    assert_eq!(error.to_string(), "another product has the SKU `TEA-ASSAM`");
    let change = Change {
        sku: Some("TEA-ASSAM".into()),
        name: Some("Other".into()),
        ..nothing(2)
    };
    assert!(matches!(store.update(change), Err(Error::Taken { .. })));
    assert_eq!(everything(&store), before);
    let other_case = NewProduct {
        sku: "tea-assam".into(),
        ..mate()
    };
    assert!(store.create(&other_case).is_ok());
}

#[test]
fn price_below_nothing_is_refused() {
    let (_folder, store) = fresh();
    let new = NewProduct {
        price_cents: -1,
        ..mate()
    };
    let error = store.create(&new).expect_err("no such price");
    assert_eq!(error.to_string(), "`price_cents` must be 0 or more, got -1");
    let change = Change {
        price_cents: Some(-1),
        ..nothing(1)
    };
    assert!(matches!(store.update(change), Err(Error::Price { price_cents: -1 })));
}

#[test]
fn update_changes_the_fields_that_are_there() {
    let (_folder, store) = fresh();
    let before = store.one(1).expect("read").expect("it is there");
    let change = Change {
        price_cents: Some(750),
        ..nothing(1)
    };
    let after = Product {
        price_cents: 750,
        ..before
    };
    assert_eq!(store.update(change).ok(), Some(Some(after.clone())));
    assert_eq!(store.update(nothing(1)).ok(), Some(Some(after.clone())));
    let own_sku = Change {
        sku: Some("TEA-ASSAM".into()),
        ..nothing(1)
    };
    assert_eq!(store.update(own_sku).ok(), Some(Some(after)));
}

#[test]
fn sku_that_a_product_gave_up_is_free() {
    let (_folder, store) = fresh();
    let change = Change {
        sku: Some("TEA-ASSAM-2".into()),
        ..nothing(1)
    };
    store.update(change).expect("changed");
    let new = NewProduct {
        sku: "TEA-ASSAM".into(),
        ..mate()
    };
    assert!(store.create(&new).is_ok());
    store.delete(2).expect("deleted");
    let new = NewProduct {
        sku: "TEA-SENCHA".into(),
        ..mate()
    };
    assert!(store.create(&new).is_ok());
}

#[test]
fn product_that_is_not_there_is_neither_changed_nor_deleted() {
    let (_folder, store) = fresh();
    let change = Change {
        sku: Some("TEA-ASSAM".into()),
        price_cents: Some(-1),
        ..nothing(99)
    };
    assert_eq!(store.update(change).ok(), Some(None));
    assert_eq!(store.delete(99).ok(), Some(0));
    assert_eq!(store.delete(5).ok(), Some(1));
    assert_eq!(store.delete(5).ok(), Some(0));
    assert_eq!(store.count().ok(), Some(Size { products: 4 }));
}

#[test]
fn views_are_counted_and_go_with_the_product() {
    let (_folder, store) = fresh();
    store.create(&mate()).expect("created");
    assert_eq!(store.views(6).ok(), Some(Some(Views { id: 6, views: 0 })));
    for _ in 0..3 {
        store.viewed(6).expect("counted");
    }
    store
        .update(Change {
            price_cents: Some(1),
            ..nothing(6)
        })
        .expect("changed");
    assert_eq!(store.views(6).ok(), Some(Some(Views { id: 6, views: 3 })));
    store.delete(6).expect("deleted");
    assert_eq!(store.views(6).ok(), Some(None));
    assert!(matches!(store.viewed(6), Err(Error::Missing { id: 6 })));
    store.create(&mate()).expect("created");
    assert_eq!(store.views(6).ok(), Some(Some(Views { id: 6, views: 0 })));
}

#[test]
fn reopened_store_has_what_was_written() {
    let (_folder, path) = place();
    let store = Store::open(&path).expect("it opens");
    store.create(&mate()).expect("created");
    store.viewed(6).expect("counted");
    store.delete(1).expect("deleted");
    let before = everything(&store);
    drop(store);
    let store = Store::open(&path).expect("it opens again");
    assert_eq!(everything(&store), before);
    assert_eq!(store.views(6).ok(), Some(Some(Views { id: 6, views: 1 })));
}

#[test]
fn emptied_catalogue_begins_anew() {
    let (_folder, path) = place();
    let store = Store::open(&path).expect("it opens");
    for id in 1..=5 {
        store.delete(id).expect("deleted");
    }
    drop(store);
    let store = Store::open(&path).expect("it opens again");
    assert_eq!(ids(&everything(&store)), [1, 2, 3, 4, 5]);
}

/// An instance is dropped without closing the store. A copy of the open file stands for the file at that moment.
#[test]
fn store_that_was_not_closed_opens_with_all_that_was_returned() {
    let (folder, path) = place();
    let store = Store::open(&path).expect("it opens");
    for count in 1..=20 {
        store.viewed(3).expect("counted");
        let copy = folder.path().join(format!("{count}.redb"));
        fs::copy(&path, &copy).expect("copied");
        let store = Store::open(&copy).expect("it opens");
        assert_eq!(store.views(3).ok(), Some(Some(Views { id: 3, views: count })));
    }
}

#[test]
fn empty_file_is_a_first_start() {
    let (_folder, path) = place();
    fs::write(&path, "").expect("written");
    let store = Store::open(&path).expect("it opens");
    assert_eq!(store.count().ok(), Some(Size { products: 5 }));
}

#[test]
fn file_of_another_kind_is_left_alone() {
    let (_folder, path) = place();
    for bytes in [b"SQLite format 3\0".repeat(1000), b"?".to_vec()] {
        fs::write(&path, &bytes).expect("written");
        let error = Store::open(&path).expect_err("no store");
        assert!(matches!(&error, Error::Damaged { .. }), "{error:?}");
        assert!(error.source().is_some());
        let expected = format!(
            "`{}` is damaged or not a store; replace it with a copy, or move it away to start with a new store",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read(&path).ok(), Some(bytes));
    }
}

#[test]
fn damaged_file_does_not_open() {
    let (_folder, path) = place();
    drop(Store::open(&path).expect("it opens"));
    let whole = fs::read(&path).expect("read");

    fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    let error = Store::open(&path).expect_err("cut off");
    assert!(matches!(&error, Error::Damaged { .. }), "{error:?}");

    let mut altered = whole;
    let text = b"Brahmaputra";
    let places: Vec<usize> = (0..altered.len() - text.len())
        .filter(|at| altered[*at..].starts_with(text))
        .collect();
    for place in &places {
        altered[*place] = b'b';
    }
    assert!(!places.is_empty());
    fs::write(&path, &altered).expect("written");
    let error = Store::open(&path).expect_err("altered");
    assert!(matches!(&error, Error::Damaged { .. }), "{error:?}");
}

#[test]
fn folder_that_is_not_there_is_named() {
    let (folder, _) = place();
    let path = folder.path().join("nowhere/catalogue.redb");
    let error = Store::open(&path).expect_err("no folder");
    assert!(matches!(&error, Error::Open { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("the store `{}` cannot be opened", path.display())
    );
}
