//! The Rust SDK.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::toolchains::language::Sdk;

pub(super) const SDK: Sdk = Sdk {
    package: "pointwork-guest",
    folder: "guest/rust",
    vendored: "vendor/pointwork-guest",
    copy: include!(concat!(env!("OUT_DIR"), "/sdk.rs")),
    lines: "[workspace]\nexclude = [\"vendor\"]\n\n\
            [dependencies]\npointwork-guest = { path = \"vendor/pointwork-guest\" }",
    version,
    locked,
};

fn version(folder: &Path) -> Option<String> {
    let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
    let package = manifest.get("package")?;
    // In a checkout the workspace has the version.
    let version = package
        .get("version")
        .and_then(toml::Value::as_str)
        .unwrap_or("that of a checkout");
    (package.get("name")?.as_str()? == SDK.package).then(|| version.to_owned())
}

/// The Cargo.lock is in the folder, or in the workspace around it.
fn locked(folder: &Path) -> Option<(PathBuf, Vec<String>)> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let folder = folder.canonicalize().ok()?;
    let mut locks = folder.ancestors().map(|folder| folder.join("Cargo.lock"));
    let lock = locks.find(|lock| lock.is_file())?;
    let text = std::fs::read_to_string(&lock).unwrap_or_default();
    let packages = toml::from_str::<Lock>(&text)
        .map(|lock| lock.package)
        .unwrap_or_default();
    let own = packages.into_iter().filter(|package| package.name == SDK.package);
    Some((lock, own.map(|package| package.version).collect()))
}
