//! The SDK for TypeScript.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::toolchains::language::Sdk;
use crate::toolchains::packed::PACKED;

pub(super) const SDK: Sdk = Sdk {
    package: "@pointwork/guest",
    folder: "guest/js",
    vendored: "vendor/pointwork-guest",
    copy: PACKED.js,
    lines: "\"dependencies\": {\n  \"@pointwork/guest\": \"file:vendor/pointwork-guest\"\n}",
    version,
    locked,
};

fn json(file: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn version(folder: &Path) -> Option<String> {
    let manifest = json(&folder.join("package.json"))?;
    let is_sdk = manifest["name"] == SDK.package;
    is_sdk.then(|| manifest["version"].as_str().unwrap_or_default().to_owned())
}

/// The package-lock.json is in the folder, or in that of the workspace around it.
fn locked(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let mut locks = folder.ancestors().map(|folder| folder.join("package-lock.json"));
    let file = locks.find(|lock| lock.is_file()).unwrap_or_default();
    let lock = json(&file).unwrap_or_default();
    let packages = lock["packages"].as_object().into_iter().flatten();
    let own = packages.filter(|(path, package)| {
        // A copy has its name there, a package of a registry its path.
        package["name"] == SDK.package || path.ends_with(&format!("node_modules/{}", SDK.package))
    });
    own.filter_map(|(_, package)| Some((package["version"].as_str()?.to_owned(), file.clone())))
        .collect()
}
