//! The SDK for Python.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::toolchains::language::Sdk;
use crate::toolchains::packed::PACKED;

pub(super) const SDK: Sdk = Sdk {
    package: "pointwork-guest",
    folder: "guest/python",
    vendored: "vendor/pointwork-guest",
    copy: PACKED.python,
    lines: "# requirements.txt\n-e ./vendor/pointwork-guest[build]",
    version,
    locked,
};

fn version(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("pyproject.toml")).ok()?;
    let manifest: Table = text.parse().ok()?;
    let project = manifest.get("project")?;
    let is_sdk = project.get("name")?.as_str()? == SDK.package;
    is_sdk.then(|| {
        project
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    })
}

/// Its requirements name the SDK by a path. The copy is in the folder of the project, or in that of the project around it.
fn locked(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let copies = folder.ancestors().map(|folder| folder.join(SDK.vendored));
    let mut found = copies.filter_map(|copy| Some((version(&copy)?, copy.join("pyproject.toml"))));
    found.next().into_iter().collect()
}
