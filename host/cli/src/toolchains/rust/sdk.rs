//! The Rust SDK.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::toolchains::language::Sdk;
use crate::toolchains::packed::PACKED;

pub(super) const SDK: Sdk = Sdk {
    package: "pointwork-guest",
    folder: "guest/rust",
    vendored: "vendor/pointwork-guest",
    copy: PACKED.rust,
    lines: "[workspace]\nexclude = [\"vendor\"]\n\n\
            [dependencies]\npointwork-guest = { path = \"vendor/pointwork-guest\" }",
    version,
    locked,
};

fn version(folder: &Path) -> Option<String> {
    let manifest: Table = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
    let package = manifest.get("package")?;
    // In a checkout the workspace has the version.
    let version = package
        .get("version")
        .and_then(Value::as_str)
        .unwrap_or("that of a checkout");
    (package.get("name")?.as_str()? == SDK.package).then(|| version.to_owned())
}

/// The Cargo.lock is in the folder, or in the workspace around it.
fn locked(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let mut locks = folder.ancestors().map(|folder| folder.join("Cargo.lock"));
    let file = locks.find(|lock| lock.is_file()).unwrap_or_default();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let lock: Table = text.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(Value::as_array);
    let text = |package: &Value, key| Some(package.get(key)?.as_str()?.to_owned());
    let own = packages.into_iter().flatten();
    let own = own.filter(|package| text(package, "name").is_some_and(|name| name == SDK.package));
    own.filter_map(|package| Some((text(package, "version")?, file.clone())))
        .collect()
}
