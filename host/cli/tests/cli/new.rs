//! `pointwork new`.

use std::path::Path;

use snapbox::str;

use crate::{folder, pointwork, stderr, write};

fn sdk() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../guest/rust")
        .canonicalize()
        .expect("the SDK is in the checkout")
}

#[test]
fn project_has_all_its_files_and_names() {
    let folder = folder();
    pointwork(folder.path())
        .args(["new", "my-shop"])
        .assert()
        .success()
        .stdout_eq("created my-shop\n");
    let project = folder.path().join("my-shop");
    for file in ["Cargo.toml", "src/lib.rs", "pointwork.toml", "README.md", ".gitignore"] {
        let text = std::fs::read_to_string(project.join(file)).expect(file);
        for place in ["@NAME@", "@SDK@", "@SDK_TESTING@"] {
            assert!(!text.contains(place), "{file} has {place}");
        }
    }
    let manifest = std::fs::read_to_string(project.join("Cargo.toml")).expect("written");
    assert!(manifest.contains("name = \"my-shop\""), "{manifest}");
}

#[test]
fn sdk_path_becomes_a_path_dependency() {
    let folder = folder();
    pointwork(folder.path())
        .args(["new", "shop", "--sdk-path"])
        .arg(sdk())
        .assert()
        .success();
    let manifest = std::fs::read_to_string(folder.path().join("shop/Cargo.toml")).expect("written");
    let line = format!("pointwork-guest = {{ path = \"{}\" }}", sdk().display());
    assert!(manifest.contains(&line), "{manifest}");
}

#[test]
fn sdk_path_to_something_else_is_refused() {
    let folder = folder();
    pointwork(folder.path())
        .args(["new", "shop", "--sdk-path", "."])
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `.` is not the package `pointwork-guest`
hint: name the folder `guest/rust` of a checkout of Pointwork

"#]]);
    assert!(!folder.path().join("shop").exists());
}

#[test]
fn directory_with_something_in_it_is_refused() {
    let folder = folder();
    write(folder.path(), "shop/notes.txt", "mine");
    pointwork(folder.path())
        .args(["new", "shop"])
        .assert()
        .code(1)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `shop` is not empty
hint: choose another directory with `--path DIR`

"#]]);
    assert_eq!(std::fs::read_dir(folder.path().join("shop")).expect("there").count(), 1);
}

#[test]
fn empty_directory_and_directory_elsewhere_are_taken() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("shop")).expect("created");
    pointwork(folder.path()).args(["new", "shop"]).assert().success();
    pointwork(folder.path())
        .args(["new", "shop", "--path", "services/shop-2"])
        .assert()
        .success();
    assert!(folder.path().join("services/shop-2/src/lib.rs").is_file());
}

#[test]
fn invalid_name_is_refused_with_another() {
    let folder = folder();
    pointwork(folder.path())
        .args(["new", "My Shop"])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: `My Shop` cannot be the name of a project: it contains ` `; expected ASCII letters, digits, `-` and `_`
hint: try `pointwork new my-shop`

"#]]);
    let text = stderr(pointwork(folder.path()).args(["new", "match"]), 2);
    assert!(
        text.contains("keyword of Rust") && text.contains("pointwork new match-api"),
        "{text}"
    );
}
