//! The controllers of the example in TypeScript and Python: they answer as those in Rust do, and take their place while
//! they serve.

use std::fs;
use std::path::{Path, PathBuf};

use pointwork_suite::fixtures::make::make_once;
use snapbox::cmd::cargo_bin;

use crate::example::Example::{Native, Python, TypeScript};
use crate::example::directory;
use crate::products::{REQUESTS, give_the_same_answers};
use crate::{run, write};

pub(crate) fn typescript() -> PathBuf {
    built(
        "typescript",
        &["package.json"],
        ("file:../../../guest/js", "file:vendor/pointwork-guest"),
    )
}

pub(crate) fn python() -> PathBuf {
    built(
        "python",
        &["requirements.txt", "pyproject.toml"],
        ("../../../guest/python", "./vendor/pointwork-guest"),
    )
}

/// The component of a language, built as a project of its own: no files are left beside the sources. The first of the manifests
/// names the SDK of the checkout, in place of which the project has a copy.
fn built(language: &str, manifests: &[&str], (checkout, vendored): (&str, &str)) -> PathBuf {
    let (source, project) = (directory().join(language), work(&format!("products-{language}")));
    let component = project.join("target/pointwork/products.wasm");
    fs::create_dir_all(component.parent().expect("a folder")).expect("created");
    let entries = fs::read_dir(source.join("src")).expect("the sources").flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    // Python leaves a folder there.
    files.retain(|file| file.is_file());
    files.sort();
    let manifests: Vec<_> = manifests.iter().map(|manifest| source.join(manifest)).collect();
    // The command has the SDK in it.
    let command = cargo_bin!("pointwork");
    let inputs = files.iter().chain(&manifests).map(PathBuf::as_path).chain([command]);
    make_once(&component, &inputs.collect::<Vec<_>>(), || {
        let _ = fs::remove_dir_all(project.join("src"));
        for file in &files {
            let inner = file.strip_prefix(&source).expect("below it").to_str().expect("text");
            write(&project, inner, fs::read(file).expect(inner));
        }
        for manifest in &manifests {
            let name = manifest
                .strip_prefix(&source)
                .expect("below it")
                .to_str()
                .expect("text");
            let text = fs::read_to_string(manifest).expect(name);
            assert!(text.contains(checkout) || *manifest != manifests[0]);
            write(&project, name, text.replace(checkout, vendored));
        }
        for arguments in ["vendor", "build"] {
            run(&project, arguments).assert().success();
        }
    });
    component
}

/// A place that is kept between runs.
fn work(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// More requests, after [`REQUESTS`].
const MORE: &[(&str, &str, Option<&str>)] = &[
    ("GET", "/products?page=first", None),
    ("GET", "/products?page=", None),
    ("GET", "/products?page=0", None),
    ("GET", "/products?page=%2B1&per_page=01", None),
    ("GET", "/products?page=1&page=2", None),
    ("GET", "/products?page=4294967295", None),
    ("GET", "/products?page=4294967296", None),
    ("GET", "/products/x", None),
    ("GET", "/products/01", None),
    ("GET", "/products/18446744073709551616", None),
    ("GET", "/products/search", None),
    ("GET", "/products/search?q=", None),
    ("GET", "/products/search?q=a&q=b", None),
    ("GET", "/products/%31", None),
    ("GET", "/products/99/label", None),
    ("POST", "/products", Some("null")),
    ("POST", "/products", Some(r#"{"sku": null}"#)),
    ("POST", "/products", Some(r#"{"sku": true}"#)),
    ("POST", "/products", Some(r#"{"sku": "Q", "name": "Q"}"#)),
    ("POST", "/products", Some(r#"{"sku": "Q", "price_cents": 1.5}"#)),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "TEA-ASSAM", "name": "Assam", "price_cents": 1}"#),
    ),
    (
        "POST",
        "/products",
        Some(r#"{"sku": "\"\\\n\u0001", "name": "😀 \u00fc", "price_cents": 9007199254740991}"#),
    ),
    ("GET", "/products/search?q=%F0%9F%98%80", None),
    ("PATCH", "/products/1", Some(r#"{"name": "  "}"#)),
    ("PATCH", "/products/1", Some(r#"{"price_cents": -1}"#)),
    ("PATCH", "/products/1", Some(r#"{"name": null, "price_cents": 691}"#)),
    ("PATCH", "/products/x", Some("{")),
    ("PUT", "/products/1", Some(r#"{"name": "Assam"}"#)),
    (
        "PUT",
        "/products/99",
        Some(r#"{"sku": "Q", "name": "Q", "price_cents": 2}"#),
    ),
    ("DELETE", "/products/x", None),
    ("DELETE", "/products/2", None),
    ("GET", "/products/2/views", None),
    ("OPTIONS", "/products/1", None),
    ("PURGE", "/products/1", None),
    ("GET", "/nothing", None),
    ("GET", "/health", None),
    ("GET", "/products?per_page=100", None),
];

#[test]
fn all_languages_give_the_same_answers() {
    give_the_same_answers(&[Native, TypeScript, Python], &[REQUESTS, MORE].concat());
}

#[cfg(unix)]
#[test]
fn swaps_to_typescript_and_back_under_load_lose_no_request() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use crate::example::controllers;
    use crate::server::Server;

    const CLIENTS: usize = 4;
    /// The lowest number of requests that each version answers.
    const BETWEEN: usize = 40;
    let taken = r#"{"sku": "TEA-ASSAM", "name": "Assam", "price_cents": 1}"#;
    let requests = [
        ("GET", "/products/1", None),
        ("GET", "/products?per_page=2", None),
        ("GET", "/products/2/label", None),
        ("POST", "/products", Some(taken)),
    ];

    let folder = Native.built();
    let server = Server::start(folder.path(), ["--config", Native.file(), "--admin", "admin.sock"]);
    let expected = requests.map(|(method, target, body)| server.send(method, target, body));
    assert_eq!(expected.each_ref().map(|reply| reply.status), [200, 200, 200, 409]);
    let components = [typescript(), controllers()];
    let versions = components.len() + 1;
    let answered = AtomicUsize::new(0);
    // The load ends with this value, also if something fails.
    let load = Arc::new(());
    let goes_on = Arc::downgrade(&load);
    thread::scope(|clients| {
        let load = load;
        let ask = || {
            while goes_on.strong_count() > 0 {
                for ((method, target, body), expected) in requests.iter().zip(&expected) {
                    let reply = server.send(method, target, *body);
                    assert_eq!((reply.status, &reply.body), (expected.status, &expected.body));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let asking: Vec<_> = (0..CLIENTS).map(|_| clients.spawn(ask)).collect();
        let more = || {
            let enough = answered.load(Ordering::Relaxed) + BETWEEN;
            server.until(|| answered.load(Ordering::Relaxed) >= enough || asking.iter().any(|asks| asks.is_finished()));
        };
        more();
        for component in components {
            let swap = run(&folder, "swap products --admin admin.sock").arg(component);
            swap.assert().success().stdout_eq("module `products` swapped\n...\n");
            more();
        }
        drop(load);
    });
    assert!(answered.load(Ordering::Relaxed) >= BETWEEN * versions);
    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0), "{}", end.errors);
    assert!(!end.errors.contains("crashed"), "{}", end.errors);
}
